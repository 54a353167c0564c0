/* Request targets and forms: a canonical path, written with other escapes, is that path again, and parameters
 * survive being written anew. Input: a target. */
#include "base/buf.h"
#include "fuzz.h"
#include "http/uri.h"

enum { TEXT_MAX = 4 * 1024 * 1024 };

static void escape_all(struct buf *out, const char *text, size_t len, bool keep_slash) {
    for (size_t i = 0; i < len; i++) {
        if (keep_slash && text[i] == '/')
            buf_addc(out, '/');
        else
            buf_addf(out, "%%%02x", (unsigned char)text[i]);
    }
}

static void check_path(const struct uri *uri) {
    must(uri->path_len == strlen(uri->path));
    if (strcmp(uri->path, "*") == 0) return;
    must(uri->path[0] == '/');
    must(uri->path_len == 1 || uri->path[uri->path_len - 1] != '/');
    for (const char *c = uri->path; *c; c++) {
        must((unsigned char)*c >= 0x20 && *c != 0x7f);
        if (*c != '/') continue;
        size_t len = strcspn(c + 1, "/");
        must(len > 0 || uri->path_len == 1);
        must(!(len == 1 && c[1] == '.') && !(len == 2 && c[1] == '.' && c[2] == '.'));
    }
}

static void check_params(const struct uri *uri, const struct uri *again) {
    must(uri->param_count == again->param_count);
    for (size_t i = 0; i < uri->param_count; i++) {
        const struct uri_param *a = &uri->params[i], *b = &again->params[i];
        must(a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0);
        must(a->value_len == b->value_len && memcmp(a->value, b->value, a->value_len) == 0);
        must(a->name[a->name_len] == '\0' && a->value[a->value_len] == '\0');
    }
}

static void check_again(const struct uri *uri) {
    struct buf query = BUF_INIT(TEXT_MAX), target = BUF_INIT(TEXT_MAX);
    struct uri again, form;
    struct err err = ERR_INIT;
    for (size_t i = 0; i < uri->param_count; i++) {
        if (i) buf_addc(&query, '&');
        escape_all(&query, uri->params[i].name, uri->params[i].name_len, false);
        buf_addc(&query, '=');
        escape_all(&query, uri->params[i].value, uri->params[i].value_len, false);
    }
    escape_all(&target, uri->path, uri->path_len, true);
    buf_addf(&target, "?%s", buf_str(&query));
    must(uri_parse(&again, target.data, target.len, &err) == 0);
    must(strcmp(again.path, uri->path) == 0);
    check_params(uri, &again);
    must(uri_parse_form(&form, buf_str(&query), query.len, &err) == 0);
    check_params(uri, &form);
    uri_free(&again);
    uri_free(&form);
    buf_free(&query);
    buf_free(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input whole = input_of(data, size);
    struct uri uri;
    struct err err = ERR_INIT;
    if (uri_parse(&uri, whole.at, whole.len, &err) == 0) {
        must(uri.param_count <= URI_PARAMS_MAX);
        check_path(&uri);
        if (uri.path[0] == '/') check_again(&uri);
    } else {
        must(err.text[0] != '\0');
    }
    uri_free(&uri);
    (void)uri_parse_form(&uri, whole.at, whole.len, &err);
    uri_free(&uri);
    return 0;
}
