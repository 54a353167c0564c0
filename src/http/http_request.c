/* One HTTP request from its first line to its answer: body, suspension, reply. Does not know routes or
 * handlers. */
#include "http/http_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/xmalloc.h"
#include "http/respond.h"
#include "http/services.h"

/* A refused request's body up to this size is read and dropped, so that the connection can be kept. */
enum { DRAIN_MAX = 64 * 1024 };
enum { WAITING_AWAKE = 256 };

static struct http_request *of(const struct request *request) {
    return (struct http_request *)(uintptr_t)request;
}

void *http_request_begin(void *http, const char *target, struct MHD_Connection *connection) {
    struct http_request *r = xcalloc(1, sizeof *r);

    r->http = http;
    r->connection = connection;
    r->target_bad = uri_parse(&r->pub.uri, target, strlen(target), &r->target_error) != 0;
    return r;
}

static struct http_connection *connection_of(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The handler has returned without an answer. Up to WAITING_AWAKE requests wait without being suspended,
 * which spares two epoll_ctl each; microhttpd looks at every one of them in each of its runs, and counts
 * their waiting as idleness, so that more, and those that are held, are suspended. */
static void wait_for_answer(struct http_request *r) {
    struct http *http = r->http;

    r->phase = PHASE_WAITING;
    r->suspended = r->pub.held || http->awake >= WAITING_AWAKE;
    if (r->suspended)
        MHD_suspend_connection(r->connection);
    else
        http->awake++;
    r->prev = NULL;
    r->next = http->waiting;
    if (http->waiting) http->waiting->prev = r;
    http->waiting = r;
}

static void wait_is_over(struct http_request *r) {
    struct http *http = r->http;

    if (r->prev)
        r->prev->next = r->next;
    else
        http->waiting = r->next;
    if (r->next) r->next->prev = r->prev;
    if (r->suspended)
        MHD_resume_connection(r->connection);
    else
        http->awake--;
    http->dirty = true; /* neither a resume nor an answer from outside wakes microhttpd */
}

static void request_free(struct http_request *r) {
    if (r->response) MHD_destroy_response(r->response);
    for (size_t i = 0; i < r->header_count; i++)
        free(r->headers[i].value);
    uri_free(&r->pub.uri);
    buf_free(&r->pub.body);
    config_unref(r->pub.config);
    free(r->pub.state);
    free(r);
}

void http_request_end(void *http, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode how) {
    static const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    struct http_request *r = *state;

    (void)http, (void)how;
    if (!r) return;
    *state = NULL;
    if (r->phase != PHASE_NEW) {
        struct http_connection *c = connection_of(connection);

        r->http->in_flight--;
        c->busy = c->settled = false;
    }
    if (r->stream) http_stream_closed(r->stream);
    if (r->phase != PHASE_WAITING) {
        request_free(r);
        return;
    }
    wait_is_over(r); /* the client has left: the answer is still to come, and has nowhere to go */
    r->phase = PHASE_GONE;
    r->connection = NULL;
    r->pub.peer = &nobody;
}

static enum MHD_Result queue(struct http_request *r) {
    struct MHD_Response *response = r->response;
    enum MHD_Result result;

    r->response = NULL;
    r->phase = PHASE_ANSWERED;
    result =
        MHD_queue_response(r->connection, r->status, response); /* may end the request: `r` is gone then */
    MHD_destroy_response(response);                             /* our reference; microhttpd has its own */
    return result;
}

static void linger(struct http_request *r) {
    connection_of(r->connection)->linger = true;
}

/* How many bytes of body are announced; SIZE_MAX when chunked. What is not a number microhttpd has refused.
 */
static size_t body_announced(const struct http_request *r) {
    const char *length = request_header(&r->pub, "Content-Length");

    if (request_header(&r->pub, "Transfer-Encoding")) return SIZE_MAX;
    return length ? (size_t)strtoull(length, NULL, 10) : 0;
}

/* Refused before the body: a small body is read and dropped, a large one is not waited for. */
static enum MHD_Result refuse_early(struct http_request *r) {
    size_t announced = body_announced(r);

    if (announced == 0) return MHD_YES; /* answered in the next call, so that the connection is kept */
    if (announced <= DRAIN_MAX && !request_header(&r->pub, "Expect")) {
        r->pub.body.max = 0;
        return MHD_YES;
    }
    linger(r);
    return queue(r);
}

static enum MHD_Result on_headers(struct http_request *r, const char *method) {
    const union MHD_ConnectionInfo *peer =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    r->phase = PHASE_BODY;
    r->http->in_flight++;
    connection_of(r->connection)->busy = true;
    r->pub.services = r->http->services;
    r->pub.config = config_ref(*r->http->services->config);
    r->pub.method_name = method;
    r->pub.method = http_method_of(method);
    r->pub.peer = peer->client_addr;
    r->pub.peer_trusted = client_ip_trusted(r->pub.peer, &r->http->services->clients);
    client_ip_find(&r->pub, &r->http->services->clients, r->client_ip);
    r->pub.client_ip = r->client_ip;
    if (r->target_bad)
        respond_problem(&r->pub, 400, NULL, "%s", r->target_error.text);
    else if (!http_fields_whole(r->connection, method))
        respond_problem(&r->pub, 400, NULL, "A header field holds a NUL or goes on in a second line.");
    else
        r->pub.body.max = r->http->callbacks.headers(&r->pub);
    return r->response ? refuse_early(r) : MHD_YES;
}

/* Too much body, seen while it comes: microhttpd takes no answer in this state, so it is written past it. */
static enum MHD_Result refuse_body(struct http_request *r) {
    static const char body[] = "{\"type\":\"about:blank\",\"title\":\"Content Too Large\",\"status\":413,"
                               "\"detail\":\"The body is larger than this address takes.\"}";
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    char answer[512];
    int len = snprintf(answer, sizeof answer,
                       "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nCache-Control: no-store\r\n"
                       "Content-Type: application/problem+json\r\nContent-Length: %zu\r\n\r\n%s",
                       sizeof body - 1, body);

    if (send(info->connect_fd, answer, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) linger(r);
    return MHD_NO;
}

static enum MHD_Result on_body(struct http_request *r, const char *data, size_t *len) {
    size_t n = *len;

    *len = 0;
    if (r->response) return MHD_YES; /* refused already, reading to keep the connection */
    if (n > r->pub.body.max - r->body_seen) return refuse_body(r);
    r->body_seen += n;
    if (!r->pub.body_ignored) buf_add(&r->pub.body, data, n);
    return MHD_YES;
}

enum MHD_Result http_request_step(void *http, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state) {
    struct http_request *r = *state;

    (void)http, (void)connection, (void)url, (void)version;
    if (!r) return MHD_NO; /* no request line was seen: cannot be */
    if (r->phase == PHASE_NEW) return on_headers(r, method);
    if (*len > 0) return on_body(r, data, len);
    if (r->phase != PHASE_BODY) return MHD_YES; /* still waiting */
    r->http->progress = true;
    if (!r->response) {
        r->phase = PHASE_DISPATCHED;
        r->http->callbacks.complete(&r->pub);
    }
    if (r->response) return queue(r);
    wait_for_answer(r);
    return MHD_YES;
}

const char *request_header(const struct request *request, const char *name) {
    if (!of(request)->connection) return NULL;
    return MHD_lookup_connection_value(of(request)->connection, MHD_HEADER_KIND, name);
}

struct header_walk {
    request_header_fn *each;
    void *arg;
};

static enum MHD_Result walk_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct header_walk *walk = arg;

    (void)kind;
    return walk->each(walk->arg, name, value ? value : "") ? MHD_YES : MHD_NO;
}

void request_each_header(const struct request *request, request_header_fn *each, void *arg) {
    struct header_walk walk = {each, arg};

    if (!of(request)->connection) return;
    MHD_get_connection_values(of(request)->connection, MHD_HEADER_KIND, walk_header, &walk);
}

struct header_count {
    const char *name;
    size_t count;
};

static bool count_header(void *arg, const char *name, const char *value) {
    struct header_count *count = arg;

    (void)value;
    if (strcasecmp(name, count->name) == 0) count->count++;
    return true;
}

size_t request_header_count(const struct request *request, const char *name) {
    struct header_count count = {name, 0};

    request_each_header(request, count_header, &count);
    return count.count;
}

void request_reply_header(struct request *request, const char *name, const char *value) {
    struct http_request *r = of(request);
    char *copy, *out;

    if (r->header_count == REPLY_HEADERS_MAX) return;
    copy = out = xmalloc(strlen(value) + 1);
    for (; *value; value++) {
        if ((unsigned char)*value >= 0x20 && *value != 0x7f)
            *out++ = *value; /* no header can be smuggled in */
    }
    *out = '\0';
    r->headers[r->header_count].name = name;
    r->headers[r->header_count++].value = copy;
}

void http_request_respond(struct http_request *r, unsigned status, const char *content_type,
                          struct MHD_Response *response) {
    r->response = response;
    r->status = status;
    if (content_type) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    for (size_t i = 0; i < r->header_count; i++) {
        MHD_add_response_header(response, r->headers[i].name, r->headers[i].value);
    }
    if (r->http->draining) MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (r->phase == PHASE_WAITING) {
        wait_is_over(r);
        queue(r);
    } else if (r->phase == PHASE_GONE) {
        request_free(r);
    } /* else the caller in http_request_step queues it */
}

void request_send(struct request *request, unsigned status, const char *content_type, struct buf *body) {
    size_t len = body ? body->len : 0;
    char *data = len ? buf_take(body) : NULL;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, data, data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

    if (!response) abort(); /* out of memory */
    http_request_respond(of(request), status, content_type, response);
}

void request_send_static(struct request *request, unsigned status, const char *content_type, const void *data,
                         size_t len) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);

    if (!response) abort();
    http_request_respond(of(request), status, content_type, response);
}

bool request_draining(const struct request *request) {
    return of(request)->http->draining;
}

bool request_answered(const struct request *request) {
    const struct http_request *r = of(request);

    return r->response || r->phase == PHASE_ANSWERED;
}
