/* The stream to Redis: socket, watchers, output buffer, and hiredis's parser for what comes in.
 *
 * It does not use hiredis's connections: its asynchronous one aborts the process on a reply that nobody asked
 * for, and asks the loop for every write. */
#include "redis/redis_socket.h"

#include <errno.h>
#include <ev.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/xmalloc.h"

enum {
    READ_CHUNK = 64 * 1024,
    REPLY_MAX = 4 * 1024 * 1024,  /* bytes of one reply; a document has 1 MiB at most, a page of keys less */
    LINE_MAX_BYTES = 64 * 1024,   /* of a reply that is a line, such as an error */
    LENGTH_LINE_MAX = 24,         /* a length's digits and its line end */
    QUEUE_MAX = 64 * 1024 * 1024, /* bytes that may wait to be sent */
    QUEUE_KEEP = 1024 * 1024,     /* memory that an empty queue may hold on to */
    ELEMENTS_MAX = 64 * 1024,     /* of a reply: hiredis makes room when it reads how many there are */
    KEEPALIVE_SECONDS = 15
};

#if HIREDIS_MAJOR >= 1
typedef size_t array_size;
#else
typedef int array_size;
#endif

struct redis_socket {
    struct ev_loop *loop;
    const struct redis_socket_events *events;
    void *arg;
    int fd;
    ev_io readable, writable;
    bool connected, ended; /* ended: `closed` has been told */
    int busy;              /* depth of events being told; freeing waits for 0 */
    bool dead;             /* redis_socket_close was called */
    redisReader *reader;
    redisReplyObjectFunctions make; /* hiredis's own, but for arrays */
    void *(*make_array)(const redisReadTask *task, array_size elements);
    size_t reply_len;      /* bytes so far of the reply that is not whole */
    size_t reply_elements; /* room made so far for its arrays */
    struct buf out;
    size_t out_sent; /* bytes at the front of `out` that are gone */
};

static void destroy(struct redis_socket *s) {
    redisReaderFree(s->reader);
    buf_free(&s->out);
    free(s);
}

static void stop(struct redis_socket *s) {
    ev_io_stop(s->loop, &s->readable);
    ev_io_stop(s->loop, &s->writable);
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

void redis_socket_close(struct redis_socket *s) {
    if (!s || s->dead) return;
    stop(s);
    s->dead = true;
    if (s->busy == 0) destroy(s);
}

/* Every event is told between enter and leave, so that the one who is told may close. */
static void enter(struct redis_socket *s) {
    s->busy++;
}

static void leave(struct redis_socket *s) {
    if (--s->busy == 0 && s->dead) destroy(s);
}

static void end(struct redis_socket *s, const char *why) {
    if (s->ended || s->dead) return;
    s->ended = true;
    stop(s);
    s->events->closed(s->arg, why);
}

/* --- in --- */

/* How many bytes the text announces if hiredis stands before that of a bulk reply, whose type it has read;
 * -1 if it does not: then it waits for the end of a line. */
static long long announced(const char *text, size_t len) {
    long long bytes = 0;
    for (size_t i = 0; i < len && i < LENGTH_LINE_MAX; i++) {
        if (text[i] == '\r') return i > 0 ? bytes : -1;
        if (text[i] < '0' || text[i] > '9') return -1;
        bytes = bytes > REPLY_MAX ? bytes : 10 * bytes + (text[i] - '0');
    }
    return -1;
}

/* NULL while the reply that is not whole may become one. hiredis would take a line of any length, and search
 * it anew from its beginning at each piece that comes. */
static const char *too_long(const struct redis_socket *s) {
    const char *rest = s->reader->buf + s->reader->pos;
    size_t len = s->reader->len - s->reader->pos;
    long long bytes = announced(rest, len);
    if (s->reply_len > REPLY_MAX || bytes > REPLY_MAX) return "a reply of more than 4 MiB";
    return bytes < 0 && len > LINE_MAX_BYTES ? "a reply with a line of more than 64 KiB" : NULL;
}

/* Hands on every reply that is whole. */
static void tell_replies(struct redis_socket *s) {
    while (!s->dead && !s->ended) {
        void *reply = NULL;
        if (redisReaderGetReply(s->reader, &reply) != REDIS_OK) {
            char why[192];
            snprintf(why, sizeof why, "cannot read its reply: %s", s->reader->errstr);
            end(s, why);
            return;
        }
        if (!reply) {
            const char *why = too_long(s);
            if (why) end(s, why);
            return;
        }
        s->reply_len = s->reader->len - s->reader->pos;
        s->reply_elements = 0;
        s->events->reply(s->arg, reply);
        freeReplyObject(reply);
    }
}

void redis_socket_poll(struct redis_socket *s) {
    static _Thread_local char chunk[READ_CHUNK];
    if (!s->connected || s->ended || s->dead) return;
    enter(s);
    ssize_t got = recv(s->fd, chunk, sizeof chunk, 0);
    if (got > 0) {
        s->reply_len += (size_t)got;
        if (redisReaderFeed(s->reader, chunk, (size_t)got) == REDIS_OK)
            tell_replies(s);
        else
            end(s, "out of memory for its reply");
    } else if (got == 0) {
        end(s, "it closed the connection");
    } else if (errno != EAGAIN && errno != EINTR) {
        end(s, strerror(errno));
    }
    leave(s);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int revents) {
    (void)loop;
    (void)revents;
    redis_socket_poll(watcher->data);
}

/* --- out --- */

bool redis_socket_send(struct redis_socket *s, const void *data, size_t len) {
    if (s->ended || len > QUEUE_MAX - s->out.len) return false;
    buf_add(&s->out, data, len);
    return true;
}

bool redis_socket_send_secret(struct redis_socket *s, const void *data, size_t len) {
    ssize_t sent = s->connected && !s->ended && s->out.len == 0 ? send(s->fd, data, len, MSG_NOSIGNAL) : 0;
    if (sent < 0) sent = 0; /* the next write tells why */
    return (size_t)sent == len || redis_socket_send(s, (const char *)data + sent, len - (size_t)sent);
}

static void forget_sent(struct redis_socket *s) {
    s->out_sent = 0;
    if (s->out.cap > QUEUE_KEEP)
        buf_free(&s->out);
    else
        buf_clear(&s->out);
}

static void write_some(struct redis_socket *s) {
    ssize_t sent = send(s->fd, s->out.data + s->out_sent, s->out.len - s->out_sent, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        enter(s);
        end(s, strerror(errno));
        leave(s);
        return;
    }
    if (sent > 0) s->out_sent += (size_t)sent;
    if (s->out_sent < s->out.len) {
        ev_io_start(s->loop, &s->writable);
        return;
    }
    forget_sent(s);
    ev_io_stop(s->loop, &s->writable);
}

bool redis_socket_flush(struct redis_socket *s) {
    if (!s->connected || s->ended || s->out.len == 0 || ev_is_active(&s->writable)) return false;
    write_some(s);
    return true;
}

/* --- connecting --- */

static void finish_connect(struct redis_socket *s) {
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) error = errno;
    enter(s);
    if (error) {
        end(s, strerror(error));
    } else {
        s->connected = true;
        ev_io_stop(s->loop, &s->writable);
        ev_io_start(s->loop, &s->readable);
        s->events->connected(s->arg);
        if (!s->dead) redis_socket_flush(s);
    }
    /* The analyzer does not see that an inner leave() frees nothing: `busy` is above 0 until here.
     * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    leave(s);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int revents) {
    (void)loop;
    (void)revents;
    struct redis_socket *s = watcher->data;
    if (s->connected)
        write_some(s);
    else
        finish_connect(s);
}

/* Small writes leave at once; a peer that vanished without a word is noticed while nothing is sent. */
static void tune(int fd) {
    int on = 1, seconds = KEEPALIVE_SECONDS, interval = KEEPALIVE_SECONDS / 3, probes = 3;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

static int connecting_socket(const struct sockaddr *address, socklen_t address_len, struct err *err) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return err_set(err, "%s", strerror(errno));
    if (address->sa_family != AF_UNIX) tune(fd);
    if (connect(fd, address, address_len) == 0 || errno == EINPROGRESS) return fd;
    err_set(err, "%s", strerror(errno));
    close(fd);
    return -1;
}

static void *make_bounded_array(const redisReadTask *task, array_size elements) {
    struct redis_socket *s = task->privdata;
    if ((size_t)elements > ELEMENTS_MAX - s->reply_elements) return NULL; /* it ends the stream */
    s->reply_elements += (size_t)elements;
    return s->make_array(task, elements);
}

/* False without memory. */
static bool open_reader(struct redis_socket *s) {
    s->reader = redisReaderCreate();
    if (!s->reader) return false;
    s->make = *s->reader->fn;
    s->make_array = s->make.createArray;
    s->make.createArray = make_bounded_array;
    s->reader->fn = &s->make;
    s->reader->privdata = s;
    return true;
}

struct redis_socket *redis_socket_open(struct ev_loop *loop, const struct sockaddr *address,
                                       socklen_t address_len, const struct redis_socket_events *events,
                                       void *arg, struct err *err) {
    int fd = connecting_socket(address, address_len, err);
    if (fd < 0) return NULL;
    struct redis_socket *s = xcalloc(1, sizeof *s);
    s->loop = loop;
    s->events = events;
    s->arg = arg;
    s->fd = fd;
    s->out = (struct buf)BUF_INIT(QUEUE_MAX);
    if (!open_reader(s)) {
        err_set(err, "out of memory");
        close(fd);
        free(s);
        return NULL;
    }
    ev_io_init(&s->readable, on_readable, fd, EV_READ);
    ev_io_init(&s->writable, on_writable, fd, EV_WRITE);
    s->readable.data = s->writable.data = s;
    ev_io_start(loop, &s->writable);
    return s;
}
