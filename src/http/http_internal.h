/* What http.c (daemon and loop) and http_request.c (one request) share. Included by nobody else. */
#ifndef RL_HTTP_HTTP_INTERNAL_H
#define RL_HTTP_HTTP_INTERNAL_H

#include <ev.h>
#include <microhttpd.h>
#include <stdatomic.h>

#include "http/client_ip.h"
#include "http/http.h"

struct http {
    struct ev_loop *loop;
    struct MHD_Daemon *daemon;
    struct http_callbacks callbacks;
    const struct services *services;
    ev_io readable; /* microhttpd's own epoll descriptor */
    ev_timer tick;  /* connection time-outs */
    bool dirty;     /* microhttpd has something to do that its descriptor does not tell */
    bool draining;
    unsigned in_flight;
    struct lingering *linger;     /* sockets that are being closed */
    struct http_request *waiting; /* list: for an answer from elsewhere */
    unsigned awake;               /* of those, not suspended */
    bool progress;                /* a request has got further in this run of microhttpd */
    struct stream *streams;       /* list: answers that are being written piece by piece */
    struct http_connection *open; /* list */
    atomic_uint connections;
};

enum phase {
    PHASE_NEW,        /* only the request line is known */
    PHASE_BODY,       /* headers seen; the body, if any, is coming */
    PHASE_DISPATCHED, /* the handler is running */
    PHASE_WAITING,    /* the handler has returned; the answer will come later */
    PHASE_ANSWERED,   /* handed to microhttpd */
    PHASE_GONE        /* the client left while it waited; freed when the answer comes */
};

struct http_request {
    struct request pub; /* first: handlers see this */
    struct http *http;
    struct MHD_Connection *connection;
    enum phase phase;
    struct err target_error; /* words if the request target is bad */
    bool target_bad;
    struct MHD_Response *response; /* made, not yet queued */
    unsigned status;
    struct stream *stream; /* the answer is one; else NULL */
    size_t body_seen;      /* bytes */
    size_t header_count;
    struct {
        const char *name;
        char *value;
    } headers[REPLY_HEADERS_MAX];
    struct http_request *next, *prev; /* http->waiting */
    bool suspended;
    char client_ip[CLIENT_IP_TEXT_MAX];
};

/* One connection; microhttpd keeps it as the socket's context. */
struct http_connection {
    struct http_connection *next, *prev; /* http->open */
    int fd;
    bool busy;    /* a request is being answered */
    bool settled; /* looked at since it became idle */
    bool linger;  /* answered without reading all of the body: close without losing the answer */
};

void *http_request_begin(void *http, const char *target, struct MHD_Connection *connection);
enum MHD_Result http_request_step(void *http, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state);
void http_request_end(void *http, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode how);

/* Answers with a response of any kind; takes our reference to it. */
void http_request_respond(struct http_request *r, unsigned status, const char *content_type,
                          struct MHD_Response *response);

/* --- http_stream.c --- */

void http_stream_closed(struct stream *stream); /* its request has ended */
void http_streams_drain(struct http *http);     /* asks all writers to end soon */
void http_streams_end(struct http *http);       /* ends all now */

/* --- http_whole.c --- */

/* False if a header field holds a NUL, behind which nothing of it is seen. `method` as microhttpd told it. */
bool http_fields_whole(struct MHD_Connection *connection, const char *method);

#endif
