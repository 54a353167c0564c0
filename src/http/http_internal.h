/* What http.c (daemon and loop) and http_request.c (one request) share. Included by nobody else. */
#ifndef RL_HTTP_HTTP_INTERNAL_H
#define RL_HTTP_HTTP_INTERNAL_H

#include <ev.h>
#include <microhttpd.h>
#include <stdatomic.h>

#include "http/client_ip.h"
#include "http/http.h"

/* Request line, headers and the answer's headers share a connection's memory. microhttpd clears it for each
 * request, so that small is fast as well as lean; too small, it would hang up on an answer that has been
 * decided. So each has its part, and so has what microhttpd reads beyond the head, of the next request. */
enum {
    HTTP_HEAD_MAX = 7 * 1024,
    HTTP_SURPLUS_MAX = 1024,
    HTTP_ANSWER_HEAD_MAX = 3 * 1024,
    HTTP_CONNECTION_MEMORY = HTTP_HEAD_MAX + HTTP_SURPLUS_MAX + HTTP_ANSWER_HEAD_MAX
};

struct http {
    struct ev_loop *loop;
    struct MHD_Daemon *daemon;
    struct http_callbacks callbacks;
    const struct services *services;
    ev_io readable; /* microhttpd's own epoll descriptor */
    ev_timer tick;  /* connection time-outs */
    bool dirty;     /* microhttpd has something to do that its descriptor does not tell */
    bool draining;
    bool adding_reserved; /* the connection that is being added is one of the reserve */
    bool no_room;         /* microhttpd hangs up, since the head of its answer did not fit */
    double behind_since;  /* microhttpd has not come to rest since then; 0: it has */
    double moved;         /* when it last told us of anything */
    ev_timer pause;       /* between its tries while it tells nothing */
    bool tls;             /* HTTPS */
    void (*closed)(void *arg, const struct sockaddr *address);
    void *closed_arg;
    unsigned in_flight;
    struct lingering *linger;     /* sockets that are being closed */
    struct http_request *waiting; /* list: for an answer from elsewhere */
    struct http_request *spare;   /* list: to be used again */
    unsigned spare_count;
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
    struct http_connection *c;
    struct MHD_Connection *connection;
    enum phase phase;
    const char *target; /* where it lies in microhttpd's memory */
    size_t target_len;
    bool chunked;          /* the body is */
    double began, touched; /* the end of the head; the last piece of body */
    double read_at;        /* the client has taken `read` bytes of the connection then */
    uint64_t read;
    bool target_bad;
    struct MHD_Response *response; /* made, not yet queued */
    unsigned status;
    struct stream *stream;            /* the answer is one; else NULL */
    size_t body_seen;                 /* bytes */
    struct http_request *next, *prev; /* http->waiting */
    bool suspended;

    /* From here on nothing is cleared for the next request: what counts is written before it is read. */
    struct buf fields;       /* of the answer's header, see http_record.c; keeps its memory */
    struct err target_error; /* words if the request target is bad */
    char client_ip[CLIENT_IP_TEXT_MAX];
};

/* One connection; microhttpd keeps it as the socket's context. */
struct http_connection {
    struct http_connection *next, *prev; /* http->open */
    struct http *http;
    struct MHD_Connection *mhd;
    struct http_request *request; /* its first line is there, its answer not yet sent; else NULL */
    int fd;
    bool served;   /* has had a request whose first line was one */
    bool reserved; /* one of those kept for operators */
    bool settled;  /* looked at since it became idle */
    bool refused;  /* is being closed: whatever still comes is not answered */
    bool linger;   /* answered without reading all of it: close without losing the answer */
    unsigned char looks;
    double head_began;   /* 0: none has begun, as far as known */
    uint64_t received;   /* bytes, when it became idle */
    double unread_since; /* at each look at what is stuck, bytes lay in the socket */
};

void *http_request_begin(void *http, const char *target, struct MHD_Connection *connection);
enum MHD_Result http_request_step(void *http, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **state);
void http_request_end(void *http, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode how);

static inline struct http_request *http_request_of(const struct request *request) {
    return (struct http_request *)(uintptr_t)request;
}

static inline void http_moved(struct http *http) {
    http->moved = ev_now(http->loop);
}

/* --- http_record.c --- */

struct http_request *http_request_new(struct http *http);
void http_request_free(struct http_request *r);
void http_request_free_spare(struct http *http);
/* The answer's header fields as they are sent, each with its line end. */
void http_fields_write(const struct http_request *r, struct buf *out);
/* Gives them to microhttpd, once. It keeps a field in three pieces of memory and looks at each several times,
 * so it gets all of them as the value of the first: lines of one field, whose ends are put in where the value
 * lies, since it takes no value that has some. A fifth of a decision's instructions went there. */
void http_fields_give(struct http_request *r, struct MHD_Response *response);

/* --- http_request.c --- */

/* Gives the refusal that waits for the end of a body which does not come. The connection must be closed then.
 */
void http_request_refuse_now(struct http_request *r);

/* Answers with a response of any kind; takes our reference to it. */
void http_request_respond(struct http_request *r, unsigned status, const char *content_type,
                          struct MHD_Response *response);

/* --- http_refusal.c --- */

extern const struct http_fault http_long_target, http_long_head, http_long_trailer; /* http_head.h */

/* MHD_queue_response for a request's status. The name itself means something else here. */
enum MHD_Result http_queue(struct http_request *r, struct MHD_Response *response);

/* --- http_stream.c --- */

void http_stream_closed(struct stream *stream); /* its request has ended */
void http_streams_drain(struct http *http);     /* asks all writers to end soon */
void http_streams_end(struct http *http);       /* ends all now */

#endif
