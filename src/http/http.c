/* The libmicrohttpd daemon of one worker on the worker's libev loop. What a request is: http_request.c. */
#include "http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xmalloc.h"
#include "http/http_internal.h"
#include "http/http_raw.h"
#include "http/http_slow.h"
#include "http/linger.h"
#include "http/respond.h"
#include "http/tls.h"

static const unsigned IDLE_SECONDS = 60;
static const double STUCK_SECONDS = 0.25;
static const double PAUSE_SECONDS = 0.01;
static const double TURN_SECONDS = 0.01; /* then others have their turn: new connections, Redis */
enum { RUNS_A_TURN = 16 };

static void connection_opened(struct http *http, struct MHD_Connection *connection, void **context) {
    struct http_connection *c = xcalloc(1, sizeof *c);

    c->http = http;
    c->mhd = connection;
    c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    c->reserved = http->adding_reserved;
    c->settled = true; /* nothing was read yet: microhttpd will be told of an end */
    c->head_began = ev_now(http->loop);
    c->next = http->open;
    if (http->open) http->open->prev = c;
    http->open = c;
    *context = c;
}

static bool has_unread(const struct http_connection *c) {
    int unread = 0;

    return ioctl(c->fd, FIONREAD, &unread) == 0 && unread > 0;
}

/* What has no first line at all microhttpd hangs up on. A person who typed something deserves a word, and so
 * does a browser that speaks TLS to a plain port. Who has sent his end may still be reading. */
static void answer_garbage(struct http_connection *c) {
    if (c->http->tls || c->served || c->refused || !http_slow_unanswered(c)) return;
    http_raw_problem(c, 400, "This is not the first line of an HTTP request.");
}

static void connection_closed(struct http *http, struct MHD_Connection *connection, void **context) {
    struct http_connection *c = *context;

    answer_garbage(c);
    if (c->linger || has_unread(c)) {
        int copy = dup(c->fd); /* microhttpd closes its own; ours keeps the socket alive */

        if (copy >= 0) linger_close(http->linger, copy);
    }
    if (http->closed)
        http->closed(http->closed_arg,
                     MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
    if (c->prev)
        c->prev->next = c->next;
    else
        http->open = c->next;
    if (c->next) c->next->prev = c->prev;
    free(c);
    *context = NULL;
    atomic_fetch_sub(&http->connections, 1);
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    http_moved(arg);
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        connection_opened(arg, connection, context);
    else
        connection_closed(arg, connection, context);
}

__attribute__((format(printf, 2, 0))) static void on_mhd_log(void *arg, const char *fmt, va_list args) {
    static const char no_room[] = "Closing connection (failed to create response header)";
    struct http *http = arg;
    char text[256];

    vsnprintf(text, sizeof text, fmt, args);
    if (strncmp(text, no_room, sizeof no_room - 1) == 0) http->no_room = true;
    log_debug("http: %s", text);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events) {
    struct http *http = watcher->data;

    (void)loop, (void)events;
    http->dirty = true;
}

static void on_pause_over(struct ev_loop *loop, ev_timer *watcher, int events) {
    struct http *http = watcher->data;

    (void)loop, (void)events;
    http->dirty = true;
}

static void on_tick(struct ev_loop *loop, ev_timer *watcher, int events) {
    struct http *http = watcher->data;

    (void)loop, (void)events;
    http_slow_sweep(http);
    http->dirty = true;
}

/* TURBO spares a shutdown before each close, so that what microhttpd hangs up on can still be told why; TLS
 * says good-bye there. STRICT would hang up on a target with a space; all that it checks is checked here. */
static struct MHD_Daemon *start_daemon(struct http *http, const struct http_settings *settings) {
    const struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)tls_certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};

    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
                                MHD_USE_ERROR_LOG | (http->tls ? MHD_USE_TLS : MHD_USE_TURBO),
                            0, NULL, NULL, http_request_step, http,                 //
                            MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, http,           //
                            MHD_OPTION_CONNECTION_LIMIT, settings->max_connections, //
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_CONNECTION_MEMORY,
                            MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,           //
                            MHD_OPTION_STRICT_FOR_CLIENT, 0,                       //
                            MHD_OPTION_URI_LOG_CALLBACK, http_request_begin, http, //
                            MHD_OPTION_NOTIFY_COMPLETED, http_request_end, http,   //
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,     //
                            MHD_OPTION_ARRAY, http->tls ? secure : plain, MHD_OPTION_END);
}

struct http *http_new(struct ev_loop *loop, const struct http_settings *settings,
                      const struct http_callbacks *callbacks, const struct services *services,
                      struct err *err) {
    struct http *http = xcalloc(1, sizeof *http);
    const union MHD_DaemonInfo *info;

    http->loop = loop;
    http->callbacks = *callbacks;
    http->services = services;
    http->linger = linger_new(loop);
    http->tls = settings->tls;
    http->closed = settings->closed;
    http->closed_arg = settings->closed_arg;
    http->daemon = start_daemon(http, settings);
    info = http->daemon ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        if (http->daemon) MHD_stop_daemon(http->daemon);
        linger_free(http->linger);
        free(http);
        err_set(err, "libmicrohttpd did not start (epoll and suspend are needed)");
        return NULL;
    }
    ev_io_init(&http->readable, on_readable, info->epoll_fd, EV_READ);
    ev_timer_init(&http->tick, on_tick, 1.0, 1.0);
    ev_init(&http->pause, on_pause_over);
    http->readable.data = http->tick.data = http->pause.data = http;
    ev_io_start(loop, &http->readable);
    ev_timer_start(loop, &http->tick);
    return http;
}

void http_add_connection(struct http *http, int fd, const struct sockaddr *address, socklen_t address_len,
                         bool reserved) {
    atomic_fetch_add(&http->connections, 1);
    http->adding_reserved = reserved;
    if (MHD_add_connection(http->daemon, fd, address, address_len) != MHD_YES) {
        atomic_fetch_sub(&http->connections, 1); /* microhttpd has closed it */
        if (http->closed) http->closed(http->closed_arg, address);
    }
    http->dirty = true;
}

/* Does microhttpd find no rest? Ordinarily it does within a turn or two. */
static void notice_stuck(struct http *http) {
    double now = ev_now(http->loop);

    if (!http->dirty && !ev_is_active(&http->pause))
        http->behind_since = 0;
    else if (http->behind_since == 0)
        http->behind_since = now;
    else if (now - http->behind_since > STUCK_SECONDS)
        http_slow_stuck(http);
}

/* A chunk's line that fills the buffer to its last byte, and no byte behind it, cannot be told from an honest
 * client that pauses, and stays until the body's time is over. If microhttpd only turns over such a one, and
 * has nothing to tell, it gets a turn now and then; whatever happens ends the pause. */
static void pause_idle(struct http *http) {
    double now = ev_now(http->loop);

    if (http->behind_since == 0 || now - http->behind_since <= STUCK_SECONDS) return;
    if (now - http->moved <= STUCK_SECONDS) return;
    if (!ev_is_active(&http->pause)) {
        ev_timer_set(&http->pause, PAUSE_SECONDS, 0.0);
        ev_timer_start(http->loop, &http->pause);
    }
    http->dirty = false;
}

bool http_run(struct http *http) {
    for (int runs = 0; http->dirty && runs < RUNS_A_TURN; runs++) {
        MHD_UNSIGNED_LONG_LONG timeout;

        if (runs > 0 && ev_time() - ev_now(http->loop) > TURN_SECONDS) break;
        http->dirty = http->progress = false;
        MHD_run(http->daemon);
        /* Its sockets are edge-triggered: what it has not finished it will not be told of again. While
         * requests wait it always says so; then their answers bring the next run, and it is run again only
         * while it gets on. */
        if (http->awake > 0)
            http->dirty |= http->progress;
        else if (MHD_get_timeout(http->daemon, &timeout) == MHD_YES && timeout == 0)
            http->dirty = true;
        if (http->dirty) pause_idle(http);
    }
    notice_stuck(http);
    return http->dirty;
}

void http_drain(struct http *http) {
    http->draining = true;
    http_streams_drain(http);
}

unsigned http_connections(const struct http *http) {
    return atomic_load(&http->connections);
}

unsigned http_in_flight(const struct http *http) {
    return http->in_flight;
}

void http_free(struct http *http) {
    if (!http) return;
    /* microhttpd aborts when it is stopped with a suspended connection. */
    while (http->waiting)
        respond_problem(&http->waiting->pub, 503, NULL, "The server is stopping.");
    http_streams_end(http);
    http->dirty = true;
    http_run(http);
    ev_io_stop(http->loop, &http->readable);
    ev_timer_stop(http->loop, &http->tick);
    ev_timer_stop(http->loop, &http->pause);
    MHD_stop_daemon(http->daemon);
    http_request_free_spare(http);
    linger_free(http->linger);
    free(http);
}
