/* Lingering close. Knows sockets only, no HTTP. */
#include "http/linger.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xmalloc.h"

/* What is read and dropped while the answer travels. More is left to TCP's flow control: a peer that only
 * writes gets no further. */
enum { DROP_MAX = 256 * 1024 };
static const double LINGER_SECONDS = 2.0;

struct linger_socket {
    ev_io readable;
    ev_timer deadline;
    size_t dropped;
};

static void finish(struct ev_loop *loop, struct linger_socket *socket) {
    ev_io_stop(loop, &socket->readable);
    ev_timer_stop(loop, &socket->deadline);
    close(socket->readable.fd);
    free(socket);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events) {
    struct linger_socket *socket = watcher->data;
    char bytes[16384];
    ssize_t n = recv(watcher->fd, bytes, sizeof bytes, MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        finish(loop, socket);
        return;
    }
    socket->dropped += (size_t)n;
    if (socket->dropped > DROP_MAX) ev_io_stop(loop, watcher);
}

static void on_deadline(struct ev_loop *loop, ev_timer *watcher, int events) {
    (void)events;
    finish(loop, watcher->data);
}

void linger_close(struct ev_loop *loop, int fd) {
    struct linger_socket *socket = xcalloc(1, sizeof *socket);

    shutdown(fd, SHUT_WR);
    ev_io_init(&socket->readable, on_readable, fd, EV_READ);
    ev_timer_init(&socket->deadline, on_deadline, LINGER_SECONDS, 0.0);
    socket->readable.data = socket->deadline.data = socket;
    ev_io_start(loop, &socket->readable);
    ev_timer_start(loop, &socket->deadline);
}
