/* Lingering close. Knows sockets only, no HTTP. */
#include "http/linger.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xmalloc.h"

/* What is read and dropped while the answer travels. More is left to TCP's flow control: a peer that only
 * writes gets no further. */
enum { DROP_MAX = 256 * 1024, SOCKETS_MAX = 1000 };
static const double LINGER_SECONDS = 2.0;

struct linger_socket {
    LIST_ENTRY(linger_socket) next;
    struct lingering *linger;
    ev_io readable;
    ev_timer deadline;
    size_t dropped;
};

struct lingering {
    struct ev_loop *loop;
    LIST_HEAD(, linger_socket) sockets;
    unsigned count;
};

struct lingering *linger_new(struct ev_loop *loop) {
    struct lingering *linger = xcalloc(1, sizeof *linger);

    linger->loop = loop;
    LIST_INIT(&linger->sockets);
    return linger;
}

static void finish(struct linger_socket *socket) {
    ev_io_stop(socket->linger->loop, &socket->readable);
    ev_timer_stop(socket->linger->loop, &socket->deadline);
    close(socket->readable.fd);
    LIST_REMOVE(socket, next);
    socket->linger->count--;
    free(socket);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events) {
    struct linger_socket *socket = watcher->data;
    char bytes[16384];
    ssize_t n = recv(watcher->fd, bytes, sizeof bytes, MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        finish(socket);
        return;
    }
    socket->dropped += (size_t)n;
    if (socket->dropped > DROP_MAX) ev_io_stop(loop, watcher);
}

static void on_deadline(struct ev_loop *loop, ev_timer *watcher, int events) {
    (void)loop, (void)events;
    finish(watcher->data);
}

void linger_close(struct lingering *linger, int fd) {
    struct linger_socket *socket;

    if (linger->count >= SOCKETS_MAX) {
        close(fd);
        return;
    }
    socket = xcalloc(1, sizeof *socket);
    socket->linger = linger;
    LIST_INSERT_HEAD(&linger->sockets, socket, next);
    linger->count++;
    shutdown(fd, SHUT_WR);
    ev_io_init(&socket->readable, on_readable, fd, EV_READ);
    ev_timer_init(&socket->deadline, on_deadline, LINGER_SECONDS, 0.0);
    socket->readable.data = socket->deadline.data = socket;
    ev_io_start(linger->loop, &socket->readable);
    ev_timer_start(linger->loop, &socket->deadline);
}

void linger_free(struct lingering *linger) {
    if (!linger) return;
    while (!LIST_EMPTY(&linger->sockets)) {
        /* The analyzer does not see that finish() takes out of the list what it frees.
         * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        finish(LIST_FIRST(&linger->sockets));
    }
    free(linger);
}
