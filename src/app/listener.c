/* Listening socket and acceptor. Knows sockets and how many connections a worker has, no HTTP but one
 * refusal. */
#include "app/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xmalloc.h"
#include "http/linger.h"

enum { BACKLOG = 4096, ACCEPTS_A_TURN = 256, COMPLAIN_EVERY_US = 10000000 };
static const double PAUSE_SECONDS = 0.1; /* when out of descriptors: some will be closed meanwhile */

struct listener {
    int fd;
    char place[128];
    struct ev_loop *loop;
    struct lingering *linger; /* refused connections */
    ev_io readable;
    ev_timer pause;
    struct worker *const *workers;
    size_t worker_count;
    struct admission *admission;
    bool tls;
    bool told_full;            /* said once, until there is room again */
    int64_t complain_after_us; /* monotonic */
};

static int open_socket(const struct addrinfo *address) {
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1, off = 0, saved;

    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static void describe(struct listener *listener) {
    struct sockaddr_storage name;
    socklen_t len = sizeof name;
    char host[64], port[8];

    getsockname(listener->fd, (struct sockaddr *)&name, &len);
    getnameinfo((struct sockaddr *)&name, len, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    bool everywhere = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    snprintf(listener->place, sizeof listener->place, strchr(host, ':') ? "%s://[%s]:%s%s" : "%s://%s:%s%s",
             listener->tls ? "https" : "http", host, port, everywhere ? ", all addresses" : "");
}

struct listener *listener_open(const char *host, int port, bool tls, struct err *err) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct listener *listener = NULL;
    struct addrinfo *found = NULL;
    char service[8];
    int fd;

    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, service, &hints, &found) != 0) {
        err_set(err, "cannot listen on %s port %d: not an address of this machine", host, port);
        return NULL;
    }
    fd = open_socket(found);
    freeaddrinfo(found);
    if (fd < 0) {
        err_set(err, "cannot listen on %s port %d: %s", host, port,
                errno == EADDRINUSE ? "the port is already in use; choose another with --port"
                                    : strerror(errno));
        return NULL;
    }
    listener = xcalloc(1, sizeof *listener);
    listener->fd = fd;
    listener->tls = tls;
    describe(listener);
    return listener;
}

const char *listener_place(const struct listener *listener) {
    return listener->place;
}

/* The worker with the fewest connections, and how many there are in all. */
static struct worker *least_loaded(const struct listener *listener, unsigned *total) {
    struct worker *best = NULL;
    unsigned least = 0;

    *total = 0;
    for (size_t i = 0; i < listener->worker_count; i++) {
        unsigned n = worker_connections(listener->workers[i]);

        *total += n;
        if (!best || n < least) best = listener->workers[i], least = n;
    }
    return best;
}

/* Nobody waits on a full server: a short answer, and closed. With TLS there is nothing to say before a
 * handshake, which is what it has no room for. */
static void refuse(struct listener *listener, int fd, enum admission_result why) {
    static const char answer[] =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\nContent-Length: 0\r\n\r\n";

    if (listener->tls || send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        close(fd);
    else
        linger_close(listener->linger, fd);
    if (!listener->told_full)
        log_warn(why == ADMISSION_FULL ? "all connections are taken (--max-connections): refusing more"
                                       : "one address has all connections that it may have "
                                         "(--max-connections-per-ip): refusing more");
    listener->told_full = true;
}

static void hand_over(struct listener *listener, int fd, const struct sockaddr *address, socklen_t len) {
    unsigned total;
    struct worker *worker = least_loaded(listener, &total);
    enum admission_result result = admission_enter(listener->admission, address, total);
    int on = 1;

    if (result == ADMISSION_FULL || result == ADMISSION_CROWD) {
        refuse(listener, fd, result);
        return;
    }
    if (result == ADMISSION_YES) listener->told_full = false;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    worker_accept(worker, fd, address, len, result == ADMISSION_RESERVED);
}

static bool accept_one(struct listener *listener) {
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    int fd = accept4(listener->fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0) hand_over(listener, fd, (struct sockaddr *)&address, len);
    return fd >= 0 || errno == ECONNABORTED || errno == EINTR;
}

static void complain(struct listener *listener, int error) {
    int64_t now_us = clock_mono_us();

    if (now_us < listener->complain_after_us) return;
    listener->complain_after_us = now_us + COMPLAIN_EVERY_US;
    log_error("cannot accept connections: %s", strerror(error));
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events) {
    struct listener *listener = watcher->data;

    (void)events;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        if (accept_one(listener)) continue;
        if (errno != EAGAIN) { /* EMFILE, ENFILE, ENOBUFS, ENOMEM */
            complain(listener, errno);
            ev_io_stop(loop, watcher);
            ev_timer_set(&listener->pause, PAUSE_SECONDS, 0.0);
            ev_timer_start(loop, &listener->pause);
        }
        return;
    }
}

static void on_pause_over(struct ev_loop *loop, ev_timer *watcher, int events) {
    struct listener *listener = watcher->data;

    (void)events;
    ev_io_start(loop, &listener->readable);
}

void listener_start(struct listener *listener, struct ev_loop *loop, struct worker *const *workers,
                    size_t worker_count, struct admission *admission) {
    listener->loop = loop;
    listener->workers = workers;
    listener->worker_count = worker_count;
    listener->admission = admission;
    listener->linger = linger_new(loop);
    ev_io_init(&listener->readable, on_readable, listener->fd, EV_READ);
    ev_timer_init(&listener->pause, on_pause_over, 0.0, 0.0);
    listener->readable.data = listener->pause.data = listener;
    ev_io_start(loop, &listener->readable);
}

void listener_stop(struct listener *listener) {
    if (listener->loop) {
        ev_io_stop(listener->loop, &listener->readable);
        ev_timer_stop(listener->loop, &listener->pause);
        for (int i = 0; i < BACKLOG && accept_one(listener); i++)
            continue;
    }
    close(listener->fd);
    listener->fd = -1;
}

void listener_free(struct listener *listener) {
    if (!listener) return;
    if (listener->fd >= 0) listener_stop(listener);
    linger_free(listener->linger);
    free(listener);
}
