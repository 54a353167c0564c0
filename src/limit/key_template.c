/* Key templates: "user:{query.user|ip}" compiled once, rendered for each request.
 *
 * Knows no HTTP: values come from the caller's look-ups. */
#include "limit/key_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/xmalloc.h"

#define FIELDS_ALLOWED "ip, method, prefix, path, policy, header.NAME, query.NAME, or hash: and one of these"

enum { SHOWN_MAX = 64 }; /* bytes of a faulty field that an error text repeats */

/* Where a field's value comes from. With `chars` the field is `name` and a NAME made of them. */
struct field {
    const char *name;
    size_t offset;     /* of the text, or the look-up, in struct request_facts */
    const char *keep;  /* what its value may hold unencoded beyond the alphabet */
    const char *chars; /* beyond letters and digits, in NAME; NULL: the field takes none */
};

/* Header names are tokens (RFC 9110), less '|', which parts alternatives. */
static const struct field fields[] = {
    {.name = "ip", .offset = offsetof(struct request_facts, ip), .keep = ":/"},
    {.name = "method", .offset = offsetof(struct request_facts, method), .keep = ""},
    {.name = "prefix", .offset = offsetof(struct request_facts, prefix), .keep = ""},
    {.name = "path", .offset = offsetof(struct request_facts, path), .keep = ""},
    {.name = "policy", .offset = offsetof(struct request_facts, policy), .keep = ""},
    {.name = "header.",
     .offset = offsetof(struct request_facts, header),
     .keep = "",
     .chars = "!#$%&'*+-.^_`~"},
    {.name = "query.", .offset = offsetof(struct request_facts, query), .keep = "", .chars = "._~-"},
};

/* A literal (field NULL) or one alternative of a field. Alternatives of one field follow each other. */
struct part {
    const struct field *field;
    const char *text; /* the literal, or the alternative as written: its mark */
    size_t len;
    const char *name; /* NAME of a header or parameter */
    bool hashed;
    bool fallback; /* an alternative behind the first */
};

struct key_template {
    char *memory; /* the text, with NULs in place of what ends a field */
    size_t count;
    struct part parts[KEY_TEMPLATE_PARTS];
};

static bool is_name_char(char c, const char *others) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
    return c != '\0' && strchr(others, c) != NULL;
}

/* --- compiling --- */

struct parser {
    struct key_template *tmpl;
    char *at, *end; /* in tmpl->memory */
    bool separated; /* what comes next cannot run into the value of a field before it */
    struct err *err;
};

static size_t place(const struct parser *p, const char *at) {
    return (size_t)(at - p->tmpl->memory) + 1;
}

static struct part *add_part(struct parser *p, const struct part *part) {
    if (p->tmpl->count == KEY_TEMPLATE_PARTS) {
        err_set(p->err, "has more than %d parts (texts and fields)", KEY_TEMPLATE_PARTS);
        return NULL;
    }
    p->tmpl->parts[p->tmpl->count] = *part;
    return &p->tmpl->parts[p->tmpl->count++];
}

static int parse_literal(struct parser *p) {
    const char *start = p->at;
    for (; p->at < p->end && *p->at != '{'; p->at++) {
        if (*p->at == '}') return err_set(p->err, "has a '}' without '{' at byte %zu", place(p, p->at));
        if (!is_name_char(*p->at, "._~-%")) p->separated = true; /* values hold no such byte */
    }
    struct part literal = {.text = start, .len = (size_t)(p->at - start)};
    return add_part(p, &literal) ? 0 : -1;
}

/* Does `text` name this field? `*name` is set to its NAME. */
static bool field_matches(const struct field *field, const char *text, const char **name) {
    size_t len = strlen(field->name);
    if (!field->chars) return strcmp(text, field->name) == 0;
    if (strncmp(text, field->name, len) != 0 || text[len] == '\0') return false;
    *name = text + len;
    for (const char *c = *name; *c; c++) {
        if (!is_name_char(*c, field->chars)) return false;
    }
    return true;
}

static int parse_alternative(struct parser *p, const char *text, bool fallback) {
    struct part part = {.text = text, .len = strlen(text), .fallback = fallback};
    part.hashed = strncmp(text, "hash:", 5) == 0;
    const char *wanted = part.hashed ? text + 5 : text;
    for (size_t i = 0; i < COUNT(fields); i++) {
        if (!field_matches(&fields[i], wanted, &part.name)) continue;
        part.field = &fields[i];
        return add_part(p, &part) ? 0 : -1;
    }
    return err_set(p->err, "has the unknown field \"%.*s\" at byte %zu: allowed are " FIELDS_ALLOWED,
                   SHOWN_MAX, text, place(p, text));
}

/* At '{'. Ends each alternative with a NUL in place of '|' or '}'. */
static int parse_field(struct parser *p) {
    char *start = p->at + 1, *close = memchr(p->at, '}', (size_t)(p->end - p->at));
    if (!close) return err_set(p->err, "has a '{' without '}' at byte %zu", place(p, p->at));
    if (!p->separated) {
        return err_set(
            p->err,
            "has two fields that touch at byte %zu: between them must stand a character other than letters, "
            "digits and ._~-%%, such as ':'",
            place(p, p->at));
    }
    p->at = close + 1;
    p->separated = false;
    *close = '\0';
    for (char *text = start, *bar; text; text = bar) {
        bar = strchr(text, '|');
        if (bar) *bar++ = '\0';
        if (parse_alternative(p, text, text != start) < 0) return -1;
    }
    return 0;
}

/* A NUL would cut a field short, and no person means a control character. */
static int check_text(const char *text, size_t len, struct err *err) {
    if (len == 0 || len > KEY_TEMPLATE_MAX) {
        return err_set(err, "must have 1 to %d bytes, as in \"user:{query.user|ip}\"; has %zu",
                       KEY_TEMPLATE_MAX, len);
    }
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte != 0x7f) continue;
        return err_set(err, "has the control character 0x%02x at byte %zu", byte, i + 1);
    }
    return 0;
}

struct key_template *key_template_parse(const char *text, size_t len, struct err *err) {
    if (check_text(text, len, err) < 0) return NULL;
    struct key_template *tmpl = xcalloc(1, sizeof *tmpl);
    tmpl->memory = xstrndup(text, len);
    struct parser p = {
        .tmpl = tmpl, .at = tmpl->memory, .end = tmpl->memory + len, .separated = true, .err = err};
    while (p.at < p.end) {
        if ((*p.at == '{' ? parse_field(&p) : parse_literal(&p)) == 0) continue;
        key_template_free(tmpl);
        return NULL;
    }
    return tmpl;
}

void key_template_free(struct key_template *tmpl) {
    if (!tmpl) return;
    free(tmpl->memory);
    free(tmpl);
}

/* --- rendering --- */

typedef const char *lookup_fn(const void *from, const char *name, size_t *len, bool *ambiguous);

static const char *part_value(const struct part *part, const struct request_facts *facts, size_t *len,
                              bool *ambiguous) {
    const char *slot = (const char *)facts + part->field->offset;
    if (part->name) {
        lookup_fn *lookup;
        memcpy(&lookup, slot, sizeof lookup);
        return lookup(facts->from, part->name, len, ambiguous);
    }
    const char *value;
    memcpy(&value, slot, sizeof value);
    *len = value ? strlen(value) : 0;
    return value;
}

/* A fallback says which it is, so that no value of one source looks like one of another. */
static void render_value(const struct part *part, const char *value, size_t len, struct buf *out) {
    if (part->fallback) {
        buf_addc(out, '@');
        buf_add(out, part->text, part->len);
        buf_addc(out, ':');
    }
    if (part->hashed) {
        char hash[KEY_HASH_TEXT];
        key_hash(value, len, hash);
        buf_adds(out, hash);
    } else {
        key_encode_value(value, len, part->field->keep, out);
    }
}

/* None of the alternatives from `first` up to `end` is there. */
static int refuse_absent(const struct key_template *tmpl, size_t first, size_t end, struct err *err) {
    struct buf names = BUF_INIT(ERR_TEXT_MAX / 2);
    for (size_t i = first; i < end; i++) {
        if (i > first) buf_adds(&names, ", ");
        buf_add(&names, tmpl->parts[i].text, tmpl->parts[i].len);
    }
    err_set(err, "the request has %s%s, which its key is made of", end - first > 1 ? "none of " : "no ",
            buf_str(&names));
    buf_free(&names);
    return -1;
}

/* The field whose first alternative is parts[*at]; moves *at behind its last. */
static int render_field(const struct key_template *tmpl, size_t *at, const struct request_facts *facts,
                        struct buf *out, struct err *err) {
    size_t first = *at;
    bool found = false;
    do {
        const struct part *part = &tmpl->parts[*at];
        size_t len = 0;
        bool ambiguous = false;
        const char *value = found ? NULL : part_value(part, facts, &len, &ambiguous);
        if (ambiguous) {
            return err_set(err, "the request has %s more than once, so that its key is not certain",
                           part->text);
        }
        if (!value || len == 0) continue;
        render_value(part, value, len, out);
        found = true;
    } while (++*at < tmpl->count && tmpl->parts[*at].fallback);
    return found ? 0 : refuse_absent(tmpl, first, *at, err);
}

int key_template_render(const struct key_template *tmpl, const struct request_facts *facts, struct buf *out,
                        struct err *err) {
    size_t at = 0;
    while (at < tmpl->count) {
        const struct part *part = &tmpl->parts[at];
        if (part->field) {
            if (render_field(tmpl, &at, facts, out, err) < 0) return -1;
        } else {
            buf_add(out, part->text, part->len);
            at++;
        }
    }
    return out->overflow ? err_set(err, "the key of this request is longer than %zu bytes", out->max) : 0;
}
