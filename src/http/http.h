/* One worker's HTTP side: a libmicrohttpd daemon on the worker's libev loop. The only place that knows
 * microhttpd.
 *
 * Handlers get a `struct request` and answer it with request_send, at once or later from a callback on the
 * same loop; suspending and resuming the connection is done here. Each request is answered exactly once. One
 * thread. */
#ifndef RL_HTTP_HTTP_H
#define RL_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/http_method.h"
#include "config/config.h"
#include "http/uri.h"

struct ev_loop;
struct http;
struct services;

/* What handlers see of a request. Filled by http.c; lives until it is answered, also when the client has left
 * meanwhile: then its header fields are gone, and the answer is dropped. */
struct request {
    const struct services *services;
    struct config *config; /* the snapshot it is decided by, referenced */
    enum http_method method;
    const char *method_name; /* as sent */
    struct uri uri;
    struct buf body;
    bool body_ignored;           /* set by the headers callback: a body is counted, and nothing of it kept */
    const struct sockaddr *peer; /* the other end of the connection, whatever the request says */
    bool reserved;               /* on a connection that is kept for operators when the server is full */
    bool peer_trusted;           /* the peer is a --trusted-proxy */
    const char *client_ip;       /* canonical text of the client's address (limit keys) */
    const struct route *route;   /* NULL if no route covers it */
    bool token_seen; /* a token of ours was compared with its Authorization, which is wiped at the end */
    bool held;       /* set by the handler: the answer may take seconds, not a round trip */
    void *state;     /* the handler's own, freed with free() at the end */
};

/* First value of a request header, NULL if absent. */
const char *request_header(const struct request *request, const char *name);
/* How many fields of that name there are. */
size_t request_header_count(const struct request *request, const char *name);
/* Calls `each` for every field until it returns false. */
typedef bool request_header_fn(void *arg, const char *name, const char *value);
void request_each_header(const struct request *request, request_header_fn *each, void *arg);

/* Adds a header to the answer (before request_send). `name` is static text; `value` is copied, with
 * spaces for control bytes. */
void request_reply_header(struct request *request, const char *name, const char *value);
/* The same with a value of the program's own text, which is not copied. */
void request_reply_fixed(struct request *request, const char *name, const char *value);

/* Answers. Takes the bytes of `body` (the buf is empty afterwards); `body` may be NULL. Exactly once a
 * request. HEAD and the closing of connections are seen to here. */
void request_send(struct request *request, unsigned status, const char *content_type, struct buf *body);
/* The same with bytes that outlive everything (embedded files). */
void request_send_static(struct request *request, unsigned status, const char *content_type, const void *data,
                         size_t len);
bool request_answered(const struct request *request);
bool request_draining(const struct request *request); /* the server is stopping: begin nothing that lasts */

/* An answer that is written piece by piece, for as long as its writer or its reader wants. Everything happens
 * on the loop's thread. The client gets the headers with the first bytes, so write some at once; a client
 * that has gone is noticed at the second write after that, so do not be silent for long. */
struct stream;

struct stream_events {
    /* The reader has left, or has all of it after request_stream_end. Called once; the stream is gone then.
     * Until then whoever writes must be there. */
    void (*closed)(void *arg);
    /* The server is stopping: end it soon. NULL: it is ended at once. */
    void (*drain)(void *arg);
};

/* Answers the request with a stream; only in the handler, before it returns. `waiting_max`: bytes that may
 * wait for a reader who is slow. */
struct stream *request_stream_begin(struct request *request, unsigned status, const char *content_type,
                                    size_t waiting_max, const struct stream_events *events, void *arg);

/* Copies the bytes. False, and nothing written, if they do not fit beside what the reader has not taken. */
bool request_stream_write(struct stream *stream, const void *data, size_t len);

/* No more is written. What is there is sent, then `closed` is called. */
void request_stream_end(struct stream *stream);

struct http_settings {
    unsigned max_connections; /* of this worker */
    bool tls;                 /* HTTPS, with the pair of http/tls.h */
    /* Called on the loop's thread when a connection is gone that http_add_connection has taken. */
    void (*closed)(void *arg, const struct sockaddr *address);
    void *closed_arg;
};

/* Called when a request's headers are there (body may follow) and when it is complete. In `headers` the
 * callee may answer at once; the body is then not read and the connection closes. It returns the most bytes
 * of body it wants. */
struct http_callbacks {
    size_t (*headers)(struct request *request);
    void (*complete)(struct request *request);
};

/* NULL with words when microhttpd does not start. `services` outlives it. */
struct http *http_new(struct ev_loop *loop, const struct http_settings *settings,
                      const struct http_callbacks *callbacks, const struct services *services,
                      struct err *err);

/* Takes over a connected socket, from the loop's thread; closed here on failure. `reserved`: its requests are
 * marked so, and each answer closes it. */
void http_add_connection(struct http *http, int fd, const struct sockaddr *address, socklen_t address_len,
                         bool reserved);

/* Lets microhttpd do what is due. Called before the loop sleeps; replies queued meanwhile leave here. Returns
 * true if there is more to do: then call again, or do not sleep. */
bool http_run(struct http *http);

/* From now on every answer closes its connection. */
void http_drain(struct http *http);
unsigned http_connections(const struct http *http); /* open; any thread */
unsigned http_in_flight(const struct http *http);   /* requests begun and not fully answered */

/* All requests must have been answered (http_in_flight may count those still being sent). */
void http_free(struct http *http);

#endif
