/* From the facts of a request to the text K of its key, by a template such as "user:{query.user|ip}"
 * (docs/api.md).
 *
 * Substituted values are percent-encoded outside [A-Za-z0-9._~-] ({ip} keeps ':' and '/'); in {a|b|ip} the
 * first alternative renders plain, a later one as "@source:value", so two sources never share a key. Pure,
 * any thread. */
#ifndef RL_LIMIT_KEY_TEMPLATE_H
#define RL_LIMIT_KEY_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "limit/key_encode.h"

enum {
    KEY_TEXT_MAX = 16384,    /* longest K; a request's head is smaller */
    KEY_TEMPLATE_MAX = 512,  /* bytes of a template */
    KEY_TEMPLATE_PARTS = 32, /* literals and alternatives of a template */
};

/* What is known of a request. Look-ups return NULL if the field is absent, else the value (decoded) and its
 * length. A field given twice is the look-up's to refuse: it sets `*ambiguous`, and rendering fails. */
struct request_facts {
    const char *ip;     /* canonical text of the client's address, or its IPv6 prefix */
    const char *method; /* "GET" */
    const char *path;   /* canonical */
    const char *prefix; /* the policy's path that matched; "" if none */
    const char *policy; /* its name */
    const char *(*query)(const void *from, const char *name, size_t *len, bool *ambiguous);
    const char *(*header)(const void *from, const char *name, size_t *len, bool *ambiguous);
    const void *from;
};

struct key_template; /* immutable once made */

/* Compiles `text`. Returns NULL with words that name the place and what is allowed: unknown field, empty
 * template, unbalanced braces, controls, two fields that touch: between them must stand a literal that no
 * value can hold, one with a character outside [A-Za-z0-9._~%-]. Each alternative may have "hash:" in front.
 * Free with key_template_free. */
struct key_template *key_template_parse(const char *text, size_t len, struct err *err);
void key_template_free(struct key_template *tmpl);

/* Appends K to `out` (empty before). An empty value counts as absent. Returns 0, or -1 with words that name
 * the field that the request lacks or gives twice, or say that K is too long for `out`. */
int key_template_render(const struct key_template *tmpl, const struct request_facts *facts, struct buf *out,
                        struct err *err);

#endif
