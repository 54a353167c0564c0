/* Ends connections that take too long. What the kernel counts of a socket tells what microhttpd does not:
 * that a head has begun, that an answer is being read. Knows nothing of what is asked. */
#include "http/http_slow.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "http/http_internal.h"
#include "http/http_raw.h"

static const double HEAD_SECONDS = 10.0; /* from its first byte; of the first request, from the connect */
static const double BODY_SECONDS = 30.0; /* from the end of the head */
static const double DRAIN_SECONDS = 2.0; /* the same, of a request that is refused already */
static const double READ_SECONDS = 30.0; /* a client takes at least READ_BYTES of its answer in this time */
static const double STUCK_SECONDS = 0.2; /* bytes of a chunked body are not read, while microhttpd runs on */
enum { READ_BYTES = 4096, IDLE_LOOKS = 4 /* sweeps between two looks at a connection that rests */ };

static bool tcp_facts(const struct http_connection *c, struct tcp_info *facts) {
    socklen_t len = sizeof *facts;

    return getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, facts, &len) == 0;
}

/* The client has sent its end, and all before it was read. An end that comes together with bytes is one
 * event, of which microhttpd reads the bytes only. */
static bool has_ended(const struct http_connection *c) {
    char byte;

    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* microhttpd reads the end of the stream and lets go. Where it is stuck (see http_slow_stuck) it reads
 * nothing and heeds no end, but it does heed the time. */
static void let_go_soon(struct http_connection *c) {
    c->refused = true;
    MHD_set_connection_option(c->mhd, MHD_CONNECTION_OPTION_TIMEOUT, 1U);
}

static void end(struct http_connection *c) {
    let_go_soon(c);
    shutdown(c->fd, SHUT_RD);
}

static void end_unread(struct http_connection *c) {
    const struct linger now = {.l_onoff = 1, .l_linger = 0}; /* what was not read goes with it */

    let_go_soon(c);
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    shutdown(c->fd, SHUT_RDWR);
}

/* A client that has sent its request and its end at once would be kept until the idle time-out. So each
 * connection that became idle is looked at once. */
static void look_settling(struct http_connection *c) {
    struct tcp_info facts;

    c->settled = true;
    c->head_began = 0;
    c->looks = 0;
    if (has_ended(c)) end(c);
    if (tcp_facts(c, &facts)) c->received = facts.tcpi_bytes_received;
}

/* Has a head begun? Bytes have come since the connection became idle. */
static void look_resting(struct http_connection *c, double now) {
    struct tcp_info facts;

    if (c->request) {
        c->head_began = now; /* its first line is there */
    } else if (++c->looks >= IDLE_LOOKS) {
        c->looks = 0;
        if (tcp_facts(c, &facts) && facts.tcpi_bytes_received != c->received) c->head_began = now;
    }
}

static void look_head(struct http_connection *c, double now) {
    struct tcp_info facts;

    if (!c->settled) {
        look_settling(c);
    } else if (c->head_began == 0) {
        look_resting(c, now);
    } else if (now - c->head_began > HEAD_SECONDS) {
        if (tcp_facts(c, &facts) && facts.tcpi_bytes_received > c->received)
            http_raw_problem(c, 408, "The head of the request did not come within 10 s.");
        end(c);
    } else if (has_ended(c)) {
        end(c); /* the rest of the head will not come */
    }
}

static void look_body(struct http_connection *c, double now) {
    if (now - c->request->touched > 1.0 && has_ended(c)) {
        end(c);
        return;
    }
    if (c->request->response && now - c->request->began > DRAIN_SECONDS) {
        http_request_refuse_now(c->request);
        end(c);
        return;
    }
    if (now - c->request->began <= BODY_SECONDS) return;
    http_raw_problem(c, 408, "The body of the request did not come within 30 s.");
    end(c);
}

/* Only an answer that waits for its reader counts: a stream may have nothing to say. */
static void look_answer(struct http_connection *c, double now) {
    struct http_request *r = c->request;
    struct tcp_info facts;
    int unread = 0;

    if (ioctl(c->fd, SIOCOUTQ, &unread) != 0 || !tcp_facts(c, &facts)) return;
    if (unread == 0 || r->read_at == 0 || facts.tcpi_bytes_acked - r->read >= READ_BYTES) {
        r->read = facts.tcpi_bytes_acked;
        r->read_at = now;
    } else if (now - r->read_at > READ_SECONDS) {
        end_unread(c);
    }
}

static void look(struct http_connection *c, double now) {
    enum phase phase = c->request ? c->request->phase : PHASE_NEW;

    if (c->refused) return;
    if (phase == PHASE_NEW)
        look_head(c, now);
    else if (phase == PHASE_BODY)
        look_body(c, now);
    else if (phase == PHASE_ANSWERED)
        look_answer(c, now);
}

void http_slow_sweep(struct http *http) {
    double now = ev_now(http->loop);

    for (struct http_connection *c = http->open; c; c = c->next)
        look(c, now);
}

/* Bytes wait in the socket at every look for STUCK_SECONDS, and none of them became body. Under load there
 * may be some at one look, but microhttpd reads each connection between two. */
static bool stuck(struct http_connection *c, double now) {
    int unread = 0;

    if (ioctl(c->fd, FIONREAD, &unread) != 0 || unread == 0) {
        c->unread_since = 0;
        return false;
    }
    if (c->unread_since <= c->request->touched || c->unread_since < c->http->behind_since)
        c->unread_since = now;
    return now - c->unread_since > STUCK_SECONDS;
}

/* A chunk's first line that fills the whole buffer without an end: microhttpd 0.9.75 neither reads on nor
 * refuses it, but tries for ever. Others are not to blame for that, nor for load. */
void http_slow_stuck(struct http *http) {
    double now = ev_now(http->loop);

    for (struct http_connection *c = http->open; c; c = c->next) {
        const struct http_request *r = c->request;

        if (c->refused || !r || r->phase != PHASE_BODY || !r->chunked || !stuck(c, now)) continue;
        http_raw_problem(c, 400, "The body's chunks cannot be read.");
        end_unread(c);
    }
}

bool http_slow_unanswered(const struct http_connection *c) {
    struct tcp_info facts;

    return tcp_facts(c, &facts) && facts.tcpi_bytes_received > 0 && facts.tcpi_data_segs_out == 0;
}
