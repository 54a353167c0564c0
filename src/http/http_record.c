/* What a request is kept in, used again for the next, and the header fields that its answer is to have. Sends
 * nothing. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xmalloc.h"
#include "http/http_internal.h"

enum {
    SPARE_MAX = 1024,       /* requests of a worker that are kept to be used again */
    FIELDS_MAX = 64 * 1024, /* bytes of an answer's header fields */
    FIELDS_KEEP = 2 * 1024  /* memory that a spare request may hold on to */
};

static void destroy(struct http_request *r) {
    buf_free(&r->fields);
    free(r);
}

/* A fresh one for each request would be most of what the allocator does. */
struct http_request *http_request_new(struct http *http) {
    struct http_request *r = http->spare;

    if (r) {
        http->spare = r->next;
        http->spare_count--;
        memset(r, 0, offsetof(struct http_request, fields));
    } else {
        r = xcalloc(1, sizeof *r);
        r->fields.max = FIELDS_MAX;
    }
    r->http = http;
    return r;
}

void http_request_free(struct http_request *r) {
    struct http *http = r->http;

    if (r->response) MHD_destroy_response(r->response);
    uri_free(&r->pub.uri);
    buf_free(&r->pub.body);
    config_unref(r->pub.config);
    free(r->pub.state);
    if (r->fields.cap > FIELDS_KEEP)
        buf_free(&r->fields);
    else
        buf_clear(&r->fields);
    if (http->spare_count == SPARE_MAX) {
        destroy(r);
        return;
    }
    r->next = http->spare;
    http->spare = r;
    http->spare_count++;
}

void http_request_free_spare(struct http *http) {
    struct http_request *r;

    while ((r = http->spare)) {
        http->spare = r->next;
        destroy(r);
    }
}

/* --- the fields of the answer --- */

/* Ends a line of the fields until the line is where it stays; no value has this byte. */
static const char END = '\1';

static void copy_clean(char *out, const char *value, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)value[i];
        out[i] = byte < ' ' || byte == 0x7f ? ' ' : value[i]; /* no field can be smuggled in */
    }
}

static char *add_line(struct http_request *r, const char *name, size_t value_len) {
    size_t name_len = strlen(name);
    char *at = buf_extend(&r->fields, name_len + 2 + value_len + 2);

    if (!at) return NULL;
    memcpy(at, name, name_len);
    memcpy(at + name_len, ": ", 2);
    at += name_len + 2;
    at[value_len] = at[value_len + 1] = END;
    return at;
}

void request_reply_header(struct request *request, const char *name, const char *value) {
    size_t len = strlen(value);
    char *at = add_line(http_request_of(request), name, len);

    if (at) copy_clean(at, value, len);
}

void request_reply_fixed(struct request *request, const char *name, const char *value) {
    size_t len = strlen(value);
    char *at = add_line(http_request_of(request), name, len);

    if (at) memcpy(at, value, len);
}

static void end_lines(char *text) {
    while ((text = strchr(text, END))) {
        *text++ = '\r';
        *text++ = '\n';
    }
}

void http_fields_write(const struct http_request *r, struct buf *out) {
    size_t start = out->len;

    buf_add(out, buf_str(&r->fields), r->fields.len);
    if (!out->overflow) end_lines(out->data + start);
}

static enum MHD_Result end_lines_of(void *last, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    (void)kind, (void)name;
    end_lines((char *)(uintptr_t)value);
    *(const char **)last = value;
    return MHD_NO;
}

void http_fields_give(struct http_request *r, struct MHD_Response *response) {
    char *name = r->fields.data, *end, *colon;
    const char *given = NULL;

    if (r->fields.len == 0) return;
    end = name + r->fields.len - 2;
    colon = strchr(name, ':');
    *colon = *end = '\0';
    MHD_add_response_header(response, name, colon + 2);
    MHD_get_response_headers(response, end_lines_of, &given);
    if (given != MHD_get_response_header(response, name)) {
        log_error("libmicrohttpd %s hands out copies of header fields", MHD_get_version());
        abort();
    }
    *colon = ':'; /* they may be needed once more, by http_raw.c */
    *end = END;
}
