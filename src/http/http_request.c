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
#include "http/cors.h"
#include "http/http_head.h"
#include "http/http_raw.h"
#include "http/respond.h"
#include "http/services.h"
#include "limit/rate_headers.h"

/* A refused request's body up to this size is read and dropped, so that the connection can be kept. */
enum { DRAIN_MAX = 64 * 1024 };
enum { WAITING_AWAKE = 256 };
/* Of an answer's head, all but the decision and CORS: status, type, length, date, connection, validators,
 * what may be cached and sniffed. */
enum { PLAIN_HEAD_MAX = 640 };
_Static_assert(PLAIN_HEAD_MAX + RATE_HEADERS_MAX + CORS_HEADERS_MAX <= HTTP_ANSWER_HEAD_MAX,
               "the head of a decision fits in whatever a request leaves");

/* microhttpd would take the query apart for us, in the memory that the answer needs, and hang up when that is
 * used up. uri.c does it better: leave it nothing. */
static void hide_query(const char *target) {
    char *query = (char *)(uintptr_t)strchr(target, '?');

    if (query) query[1] = '\0';
}

void *http_request_begin(void *http, const char *target, struct MHD_Connection *connection) {
    struct http_request *r = http_request_new(http);

    r->connection = connection;
    r->target = target;
    r->target_len = strlen(target);
    r->target_bad = uri_parse(&r->pub.uri, target, r->target_len, &r->target_error) != 0;
    hide_query(target);
    r->c = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    r->c->request = r;
    r->c->served = true;
    return r;
}

/* The handler has returned without an answer. */
static void wait_for_answer(struct http_request *r) {
    struct http *http = r->http;

    r->phase = PHASE_WAITING;
    http->awake++;
    r->prev = NULL;
    r->next = http->waiting;
    if (http->waiting) http->waiting->prev = r;
    http->waiting = r;
}

/* Up to WAITING_AWAKE requests wait without being suspended, which spares two epoll_ctl each; microhttpd
 * looks at every one of them in each of its runs, and counts their waiting as idleness, so that more, and
 * those that are held, are suspended. Not in the call that found no answer, but when microhttpd looks again:
 * only in between it notes that the connection is not to be read. If it were resumed without that note,
 * microhttpd would read before it writes the answer, and hang up, without a word, on a client that has sent
 * its end. */
static void keep_waiting(struct http_request *r) {
    if (r->suspended || (!r->pub.held && r->http->awake <= WAITING_AWAKE)) return;
    r->suspended = true;
    r->http->awake--;
    MHD_suspend_connection(r->connection);
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

static bool wipe_token(void *arg, const char *name, const char *value) {
    (void)arg;
    if (strcasecmp(name, "Authorization") == 0) explicit_bzero((char *)(uintptr_t)value, strlen(value));
    return true;
}

void http_request_end(void *http, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode how) {
    static const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    struct http_request *r = *state;

    (void)http, (void)connection;
    if (!r) return;
    *state = NULL;
    if (r->http->no_room) http_raw_problem(r->c, http_long_head.status, http_long_head.detail);
    r->http->no_room = false;
    if (how == MHD_REQUEST_TERMINATED_WITH_ERROR) r->c->linger = true; /* microhttpd may have answered */
    if (r->phase != PHASE_NEW) r->http->in_flight--;
    if (r->pub.token_seen) request_each_header(&r->pub, wipe_token, NULL);
    r->c->request = NULL;
    r->c->settled = false;
    if (r->stream) http_stream_closed(r->stream);
    if (r->phase != PHASE_WAITING) {
        http_request_free(r);
        return;
    }
    wait_is_over(r); /* the client has left: the answer is still to come, and has nowhere to go */
    r->phase = PHASE_GONE;
    r->connection = NULL;
    r->c = NULL;
    r->pub.peer = &nobody;
}

static enum MHD_Result queue(struct http_request *r) {
    struct MHD_Response *response = r->response;
    enum MHD_Result result;

    r->response = NULL;
    r->phase = PHASE_ANSWERED;
    result = http_queue(r, response); /* may end the request: `r` is gone then */
    MHD_destroy_response(response);   /* our reference; microhttpd has its own */
    return result;
}

/* How many bytes of body are announced; SIZE_MAX when chunked. What is not a number microhttpd has refused.
 */
static size_t body_announced(const struct http_request *r) {
    const char *length = request_header(&r->pub, "Content-Length");

    if (request_header(&r->pub, "Transfer-Encoding")) return SIZE_MAX;
    return length ? (size_t)strtoull(length, NULL, 10) : 0;
}

/* Refused before the body: a small body is read and dropped, a large one is not waited for. Chunks may be
 * either: DRAIN_MAX bytes of them are read, for as long as http_slow.c allows. */
static enum MHD_Result refuse_early(struct http_request *r) {
    size_t announced = body_announced(r);

    if (announced == 0) return MHD_YES; /* answered in the next call, so that the connection is kept */
    if ((announced <= DRAIN_MAX || announced == SIZE_MAX) && !request_header(&r->pub, "Expect")) {
        r->pub.body.max = 0;
        return MHD_YES;
    }
    r->c->linger = true;
    return queue(r);
}

/* What lies in the connection's memory: the head, a record a field, and what was copied. */
static size_t memory_of(struct http_request *r, size_t head_size) {
    enum { RECORD = 64, ALL = MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_FOOTER_KIND };
    const char *cookies = request_header(&r->pub, "Cookie");
    int records = MHD_get_connection_values(r->connection, (enum MHD_ValueKind)ALL, NULL, NULL);

    return head_size + (size_t)records * RECORD + (cookies ? strlen(cookies) + 1 : 0);
}

static const struct http_fault *check_head(struct http_request *r, const char *method, const char *version) {
    struct http_head head = {
        .bytes = method, .target = r->target, .target_len = r->target_len, .version = version};
    const struct http_fault *fault;

    head.size = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
    head.fields = (size_t)MHD_get_connection_values(r->connection, MHD_HEADER_KIND, NULL, NULL);
    /* Later versions leave memory in another state, and refuse most of this themselves. */
    fault = MHD_VERSION < 0x00097700 ? http_head_check(&head, &r->chunked) : NULL;
    if (fault || memory_of(r, head.size) <= HTTP_HEAD_MAX) return fault;
    return r->target_len > head.size / 2 ? &http_long_target : &http_long_head;
}

static enum MHD_Result add_size(void *size, enum MHD_ValueKind kind, const char *name, const char *value) {
    enum { AROUND = sizeof ": \r\n" - 1 };

    (void)kind;
    *(size_t *)size += strlen(name) + (value ? strlen(value) : 0) + AROUND;
    return MHD_YES;
}

/* The fields behind the last chunk lie where the head does. */
static const struct http_fault *check_trailer(struct http_request *r) {
    size_t size =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;

    if (!r->chunked) return NULL;
    MHD_get_connection_values(r->connection, MHD_FOOTER_KIND, add_size, &size);
    return memory_of(r, size) <= HTTP_HEAD_MAX ? NULL : &http_long_trailer;
}

static enum MHD_Result refuse(struct http_request *r, const struct http_fault *fault) {
    http_raw_problem(r->c, fault->status, fault->detail);
    return MHD_NO;
}

/* No route has seen it, nor will. */
static enum MHD_Result refuse_head(struct http_request *r, const struct http_fault *fault) {
    cors_headers(&r->pub);
    return refuse(r, fault);
}

static void describe(struct http_request *r, const char *method) {
    const union MHD_ConnectionInfo *peer =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    r->pub.config = config_ref(*r->http->services->config);
    r->pub.method_name = method;
    r->pub.reserved = r->c->reserved;
    r->pub.peer = peer->client_addr;
    r->pub.peer_trusted = client_ip_trusted(r->pub.peer, &r->http->services->clients);
    client_ip_find(&r->pub, &r->http->services->clients, r->client_ip);
    r->pub.client_ip = r->client_ip;
}

static enum MHD_Result on_headers(struct http_request *r, const char *method, const char *version) {
    const struct http_fault *fault = check_head(r, method, version);

    r->phase = PHASE_BODY;
    r->http->in_flight++;
    r->began = r->touched = ev_now(r->http->loop);
    r->pub.method = http_method_of(method);
    r->pub.services = r->http->services;
    if (fault) return refuse_head(r, fault);
    if (r->target_bad) return refuse_head(r, &(struct http_fault){400, r->target_error.text});
    describe(r, method);
    r->pub.body.max = r->http->callbacks.headers(&r->pub);
    return r->response ? refuse_early(r) : MHD_YES;
}

void http_request_refuse_now(struct http_request *r) {
    static const char detail[] = "The request was refused before its body had come.";

    http_raw_problem(r->c, r->status >= 400 ? r->status : 413, detail);
}

/* Refused already, reading to keep the connection. */
static enum MHD_Result drain(struct http_request *r, size_t n) {
    r->body_seen += n;
    if (r->body_seen <= DRAIN_MAX) return MHD_YES;
    http_request_refuse_now(r);
    return MHD_NO;
}

static enum MHD_Result on_body(struct http_request *r, const char *data, size_t *len) {
    static const struct http_fault large = {413, "The body is larger than this address takes."};
    size_t n = *len;

    *len = 0;
    r->touched = ev_now(r->http->loop);
    if (r->response) return drain(r, n);
    if (n > r->pub.body.max - r->body_seen) return refuse(r, &large);
    r->body_seen += n;
    if (!r->pub.body_ignored) buf_add(&r->pub.body, data, n);
    return MHD_YES;
}

enum MHD_Result http_request_step(void *http, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state) {
    struct http_request *r = *state;

    (void)connection, (void)url;
    http_moved(http);
    if (!r || r->c->refused) return MHD_NO;
    if (r->phase == PHASE_NEW) return on_headers(r, method, version);
    if (*len > 0) return on_body(r, data, len);
    if (r->phase == PHASE_WAITING) keep_waiting(r);
    if (r->phase != PHASE_BODY) return MHD_YES;
    r->http->progress = true;
    if (!r->response) {
        const struct http_fault *fault = check_trailer(r);
        if (fault) return refuse(r, fault);
        r->phase = PHASE_DISPATCHED;
        r->http->callbacks.complete(&r->pub);
    }
    if (r->response) return queue(r);
    wait_for_answer(r);
    return MHD_YES;
}

const char *request_header(const struct request *request, const char *name) {
    if (!http_request_of(request)->connection) return NULL;
    return MHD_lookup_connection_value(http_request_of(request)->connection, MHD_HEADER_KIND, name);
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

    if (!http_request_of(request)->connection) return;
    MHD_get_connection_values(http_request_of(request)->connection, MHD_HEADER_KIND, walk_header, &walk);
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

void http_request_respond(struct http_request *r, unsigned status, const char *content_type,
                          struct MHD_Response *response) {
    size_t len = r->fields.len;

    r->response = response;
    r->status = status;
    if (content_type) request_reply_fixed(&r->pub, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    http_fields_give(r, response);
    r->fields.len = len; /* an answer of http_raw.c in its place has a type of its own */
    if (r->http->draining || r->pub.reserved)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (r->phase == PHASE_WAITING) {
        wait_is_over(r);
        queue(r);
    } else if (r->phase == PHASE_GONE) {
        http_request_free(r);
    } /* else the caller in http_request_step queues it */
}

void request_send(struct request *request, unsigned status, const char *content_type, struct buf *body) {
    size_t len = body ? body->len : 0;
    char *data = len ? buf_take(body) : NULL;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, data, data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

    if (!response) abort(); /* out of memory */
    http_request_respond(http_request_of(request), status, content_type, response);
}

void request_send_static(struct request *request, unsigned status, const char *content_type, const void *data,
                         size_t len) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);

    if (!response) abort();
    http_request_respond(http_request_of(request), status, content_type, response);
}

bool request_draining(const struct request *request) {
    return http_request_of(request)->http->draining;
}

bool request_answered(const struct request *request) {
    const struct http_request *r = http_request_of(request);

    return r->response || r->phase == PHASE_ANSWERED;
}
