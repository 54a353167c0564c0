/* A request target taken apart into canonical path and parameters. Knows no routes and no methods.
 *
 * Everything a uri points to lies in one block: the parameters, then path, authority, raw query and decoded
 * texts. */
#include "http/uri.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/percent.h"
#include "base/xmalloc.h"

struct span {
    const char *at;
    size_t len;
};

/* The parts of a target as sent, before anything is decoded. */
struct parts {
    struct span authority, path, query;
    bool absolute;
};

static struct span cut_at(struct span *rest, char separator) {
    const char *found = rest->len > 0 ? memchr(rest->at, separator, rest->len) : NULL;
    struct span head = {rest->at, found ? (size_t)(found - rest->at) : rest->len};
    size_t skip = head.len + (found ? 1 : 0);
    rest->at += skip;
    rest->len -= skip;
    return head;
}

static bool has_prefix(struct span text, const char *prefix) {
    size_t len = strlen(prefix);
    return text.len >= len && strncasecmp(text.at, prefix, len) == 0;
}

static bool is_control(char c) {
    return (unsigned char)c < ' ' || c == 0x7f;
}

static int check_bytes(struct span target, struct err *err) {
    for (size_t i = 0; i < target.len; i++) {
        unsigned char byte = (unsigned char)target.at[i];
        if (byte == ' ' || is_control(target.at[i]))
            return err_set(err, "the request target holds byte 0x%02x, which must be percent-encoded", byte);
        if (byte == '#') return err_set(err, "the request target holds '#', which must be sent as %%23");
    }
    return 0;
}

/* Takes "http://authority" off the front. */
static int take_authority(struct parts *parts, struct span *rest, struct err *err) {
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (!has_prefix(*rest, schemes[i])) continue;
        rest->at += strlen(schemes[i]);
        rest->len -= strlen(schemes[i]);
        parts->absolute = true;
        parts->authority = *rest;
        parts->authority.len = 0;
        while (rest->len > 0 && *rest->at != '/' && *rest->at != '?') {
            parts->authority.len++;
            rest->at++;
            rest->len--;
        }
        return parts->authority.len > 0
                   ? 0
                   : err_set(err, "the request target names no host behind %s", schemes[i]);
    }
    return err_set(err, "the request target must begin with '/' or http://; got \"%.*s\"",
                   (int)(rest->len < 64 ? rest->len : 64), rest->at);
}

static int split_target(struct parts *parts, struct span target, struct err *err) {
    if (target.len == 0) return err_set(err, "the request target is empty");
    if (check_bytes(target, err)) return -1;
    if (target.len == 1 && *target.at == '*') {
        parts->path = target;
        return 0;
    }
    if (*target.at != '/' && take_authority(parts, &target, err)) return -1;
    parts->path = cut_at(&target, '?');
    parts->query = target;
    return 0;
}

static size_t count_params(struct span query) {
    size_t count = 0;
    while (query.len > 0) {
        if (cut_at(&query, '&').len > 0) count++;
    }
    return count;
}

static int decode(struct span text, enum percent_plus plus, const char *where, char *out, size_t *len,
                  struct err *err) {
    const char *bad = percent_decode(text.at, text.len, plus, out, len);
    if (!bad) return 0;
    size_t shown = (size_t)(text.at + text.len - bad);
    return err_set(err, "\"%.*s\" in the %s is not '%%' and two hexadecimal digits",
                   shown < 3 ? (int)shown : 3, bad, where);
}

static char *put_span(char **at, struct span span) {
    char *copy = *at;
    if (span.len > 0) memcpy(copy, span.at, span.len);
    copy[span.len] = '\0';
    *at += span.len + 1;
    return copy;
}

/* Back to the slash that begins the last segment. */
static size_t drop_segment(const char *path, size_t len) {
    do
        len--;
    while (path[len] != '/');
    return len;
}

/* Rewrites the decoded path in place; what is written never overtakes what is read. 0: it climbs above the
 * root. */
static size_t remove_dots(char *path, size_t len) {
    size_t out = 0;
    struct span rest = {path, len};
    while (rest.len > 0) {
        struct span segment = cut_at(&rest, '/');
        if (segment.len == 0 || (segment.len == 1 && *segment.at == '.')) continue;
        if (segment.len == 2 && memcmp(segment.at, "..", 2) == 0) {
            if (out == 0) return 0;
            out = drop_segment(path, out);
            continue;
        }
        path[out++] = '/';
        memmove(path + out, segment.at, segment.len);
        out += segment.len;
    }
    if (out == 0) path[out++] = '/';
    return out;
}

static int put_path(struct uri *uri, char **at, struct span raw, struct err *err) {
    char *path = *at;
    size_t len;
    if (decode(raw, PERCENT_PLUS_PLAIN, "path", path, &len, err)) return -1;
    for (size_t i = 0; i < len; i++) {
        if (is_control(path[i]))
            return err_set(err, "the path holds control byte 0x%02x", (unsigned char)path[i]);
    }
    if (!(raw.len == 1 && *raw.at == '*')) len = remove_dots(path, len);
    if (len == 0) return err_set(err, "the path climbs above the root");
    path[len] = '\0';
    uri->path = path;
    uri->path_len = len;
    *at += raw.len + 2;
    return 0;
}

static int put_text(const char **text, size_t *text_len, char **at, struct span raw, struct err *err) {
    char *out = *at;
    if (decode(raw, PERCENT_PLUS_IS_SPACE, "parameters", out, text_len, err)) return -1;
    out[*text_len] = '\0';
    *text = out;
    *at += *text_len + 1;
    return 0;
}

static int put_params(struct uri *uri, char **at, struct span query, struct err *err) {
    while (query.len > 0) {
        struct span value = cut_at(&query, '&');
        if (value.len == 0) continue;
        struct uri_param *param = &uri->params[uri->param_count++];
        param->has_value = memchr(value.at, '=', value.len) != NULL;
        struct span name = cut_at(&value, '=');
        if (put_text(&param->name, &param->name_len, at, name, err)) return -1;
        if (put_text(&param->value, &param->value_len, at, value, err)) return -1;
    }
    return 0;
}

static int fill(struct uri *uri, const struct parts *parts, struct err *err) {
    size_t params = count_params(parts->query);
    /* Path: kept as sent, and with a slash and a NUL more than was sent. A parameter: two NULs more. */
    size_t text = 2 * parts->path.len + 3 + parts->authority.len + 1 + 2 * parts->query.len + 1 + 2 * params;
    uri->memory = xmalloc(params * sizeof *uri->params + text);
    uri->params = (struct uri_param *)(void *)uri->memory;
    char *at = uri->memory + params * sizeof *uri->params;
    if (parts->path.at) uri->raw_path = put_span(&at, parts->path);
    if (parts->path.at) uri->raw_query = put_span(&at, parts->query);
    if (parts->absolute) uri->authority = put_span(&at, parts->authority);
    if (parts->path.at && put_path(uri, &at, parts->path, err)) return -1;
    if (params > URI_PARAMS_MAX)
        return err_set(err, "%zu parameters; at most %d are allowed", params, URI_PARAMS_MAX);
    return put_params(uri, &at, parts->query, err);
}

static void reset(struct uri *uri) {
    *uri = (struct uri){.path = "", .raw_path = "", .raw_query = ""};
}

int uri_parse(struct uri *uri, const char *target, size_t len, struct err *err) {
    reset(uri);
    struct parts parts = {.absolute = false};
    if (split_target(&parts, (struct span){target, len}, err)) return -1;
    return fill(uri, &parts, err);
}

int uri_parse_form(struct uri *uri, const char *body, size_t len, struct err *err) {
    reset(uri);
    struct parts parts = {.query = {body, len}};
    return fill(uri, &parts, err);
}

void uri_free(struct uri *uri) {
    free(uri->memory);
    reset(uri);
}

const struct uri_param *uri_param(const struct uri *uri, const char *name, size_t *count) {
    const struct uri_param *first = NULL;
    size_t len = strlen(name), found = 0;
    for (size_t i = 0; i < uri->param_count; i++) {
        const struct uri_param *param = &uri->params[i];
        if (param->name_len != len || memcmp(param->name, name, len) != 0) continue;
        if (found++ == 0) first = param;
    }
    if (count) *count = found;
    return first;
}
