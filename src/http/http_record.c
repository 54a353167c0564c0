/* What a request is kept in, used again for the next, and the header fields that its answer is to have. Sends
 * nothing. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/xmalloc.h"
#include "http/http_internal.h"

enum {
    SPARE_MAX = 1024,            /* requests of a worker that are kept to be used again */
    HEADER_TEXT_MAX = 64 * 1024, /* bytes of all values of an answer's header fields */
    HEADER_TEXT_KEEP = 2 * 1024  /* memory that a spare request may hold on to */
};

static void destroy(struct http_request *r) {
    buf_free(&r->header_text);
    free(r);
}

/* A fresh one for each request would be most of what the allocator does. */
struct http_request *http_request_new(struct http *http) {
    struct http_request *r = http->spare;

    if (r) {
        http->spare = r->next;
        http->spare_count--;
        memset(r, 0, offsetof(struct http_request, header_text));
    } else {
        r = xcalloc(1, sizeof *r);
        r->header_text.max = HEADER_TEXT_MAX;
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
    if (r->header_text.cap > HEADER_TEXT_KEEP)
        buf_free(&r->header_text);
    else
        buf_clear(&r->header_text);
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

void request_reply_header(struct request *request, const char *name, const char *value) {
    struct http_request *r = http_request_of(request);
    struct buf *text = &r->header_text;
    size_t at = text->len;
    char *out;

    if (r->header_count == REPLY_HEADERS_MAX) return;
    out = buf_extend(text, strlen(value) + 1);
    if (!out) return;
    for (; *value; value++) {
        if ((unsigned char)*value >= 0x20 && *value != 0x7f)
            *out++ = *value; /* no header can be smuggled in */
    }
    *out++ = '\0';
    text->len = (size_t)(out - text->data);
    r->headers[r->header_count++] = (struct reply_header){.name = name, .at = at};
}

void request_reply_fixed(struct request *request, const char *name, const char *value) {
    struct http_request *r = http_request_of(request);

    if (r->header_count == REPLY_HEADERS_MAX) return;
    r->headers[r->header_count++] = (struct reply_header){.name = name, .fixed = value};
}

const char *http_reply_value(const struct http_request *r, size_t i) {
    return r->headers[i].fixed ? r->headers[i].fixed : r->header_text.data + r->headers[i].at;
}
