/* A request target taken apart: canonical path and query. Pure, any thread.
 *
 * Target: origin form ("/path?query"), absolute form ("http://authority/path?query", https too; what is in
 * front of the path only fills `authority`) or "*" alone. Anything else is an error: empty, "host:port", '#',
 * spaces, controls.
 *
 * Path: percent-decoded once, then dot segments and doubled slashes removed, so that another spelling of a
 * path is the same path: "/a//b", "/a/./b", "/a/x/../b", "/%61/b", "/a%2Fb" and "/a/b/" are all "/a/b". A
 * trailing slash is dropped (but for "/"). Letters keep their case, ";x" and '\' are ordinary text. Errors:
 * '%' without two hexadecimal digits, NUL and other controls (encoded ones too), climbing above the root
 * ("/..", "/a/../../b").
 *
 * Query: parameters are separated by '&' alone (';' is ordinary text), empty ones ("a&&b") are left out.
 * Names and values are percent-decoded once and '+' is a space; an encoded NUL or control stays. Errors: '%'
 * without two hexadecimal digits, too many parameters. */
#ifndef RL_HTTP_URI_H
#define RL_HTTP_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct uri_param {
    const char *name, *value; /* decoded ('+' is a space); NUL-terminated, may hold NUL bytes inside */
    size_t name_len, value_len;
    bool has_value; /* "key=" has one, "key" has not */
};

struct uri {
    const char *path; /* canonical, begins with '/'; "*" for OPTIONS * */
    size_t path_len;
    const char *authority; /* of an absolute-form target; NULL otherwise */
    const char *raw_path;  /* as sent, neither decoded nor made canonical */
    const char *raw_query; /* behind '?', as sent; "" if none */
    struct uri_param *params;
    size_t param_count;
    char *memory; /* owned: all of the above */
};

enum { URI_PARAMS_MAX = 64 };

/* Takes `target` apart (as in the request line). Returns 0, or -1 with words for the client; `path` and
 * `raw_path` are then as far as it got, "" if not at all. Free with uri_free in either case. */
int uri_parse(struct uri *uri, const char *target, size_t len, struct err *err);

/* The same for a bare application/x-www-form-urlencoded body: only params are filled (all else: "").
 */
int uri_parse_form(struct uri *uri, const char *body, size_t len, struct err *err);

void uri_free(struct uri *uri);

/* The parameter of that name, NULL if absent; `*count` (may be NULL) tells how often it occurs. */
const struct uri_param *uri_param(const struct uri *uri, const char *name, size_t *count);

#endif
