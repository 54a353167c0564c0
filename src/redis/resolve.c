/* Name resolution in a thread. It connects to nothing.
 *
 * The look-up is shared by the loop and the thread; whoever lets go of it last frees it. After resolve_cancel
 * the thread no longer touches the loop, which may be gone by then. */
#include "redis/resolve.h"

#include <errno.h>
#include <ev.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/xmalloc.h"

struct resolve {
    struct ev_loop *loop;
    ev_async answered;
    resolve_done *done;
    void *arg;
    char *host;
    char port[8];
    pthread_mutex_t lock; /* guards what follows */
    int holders;
    bool cancelled;
    int error; /* of getaddrinfo */
    int system_error;
    struct addresses found;
};

static int look_up(const char *host, const char *port, int flags, struct addresses *found) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *list = NULL;
    found->count = 0;
    int error = getaddrinfo(host, port, &hints, &list);
    if (error) return error;
    for (const struct addrinfo *at = list; at && found->count < ADDRESSES_MAX; at = at->ai_next) {
        memcpy(&found->list[found->count].at, at->ai_addr, at->ai_addrlen);
        found->list[found->count++].len = at->ai_addrlen;
    }
    freeaddrinfo(list);
    return 0;
}

int resolve_numeric(const char *host, int port, struct addresses *found) {
    char text[8];
    snprintf(text, sizeof text, "%d", port & 0xffff);
    return look_up(host, text, AI_NUMERICHOST | AI_NUMERICSERV, found) == 0 && found->count > 0 ? 0 : -1;
}

int resolve_unix(const char *path, struct addresses *found, struct err *err) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len >= sizeof at.sun_path)
        return err_set(err, "the path of a Unix socket has at most %zu bytes", sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, len + 1);
    memcpy(&found->list[0].at, &at, sizeof at);
    found->list[0].len = sizeof at;
    found->count = 1;
    return 0;
}

/* With the lock held, which it gives back. */
static void let_go(struct resolve *resolve) {
    bool last = --resolve->holders == 0;
    pthread_mutex_unlock(&resolve->lock);
    if (!last) return;
    pthread_mutex_destroy(&resolve->lock);
    free(resolve->host);
    free(resolve);
}

static void *look_up_thread(void *arg) {
    struct resolve *resolve = arg;
    struct addresses found;
    int error = look_up(resolve->host, resolve->port, AI_NUMERICSERV, &found);
    int system_error = errno;
    pthread_mutex_lock(&resolve->lock);
    resolve->error = error;
    resolve->system_error = system_error;
    resolve->found = found;
    if (!resolve->cancelled) ev_async_send(resolve->loop, &resolve->answered);
    let_go(resolve);
    return NULL;
}

static void on_answered(struct ev_loop *loop, ev_async *watcher, int revents) {
    (void)loop;
    (void)revents;
    struct resolve *resolve = watcher->data;
    pthread_mutex_lock(&resolve->lock);
    struct addresses found = resolve->found;
    const char *error = NULL;
    if (resolve->error)
        error = resolve->error == EAI_SYSTEM ? strerror(resolve->system_error) : gai_strerror(resolve->error);
    else if (found.count == 0)
        error = "the name has no address";
    resolve_done *done = resolve->done;
    void *arg = resolve->arg;
    resolve->cancelled = true;
    ev_async_stop(resolve->loop, &resolve->answered);
    let_go(resolve);
    done(arg, &found, error);
}

void resolve_cancel(struct resolve *resolve) {
    if (!resolve) return;
    pthread_mutex_lock(&resolve->lock);
    resolve->cancelled = true;
    ev_async_stop(resolve->loop, &resolve->answered);
    let_go(resolve);
}

/* Signals are for the main thread. */
static int start_thread(struct resolve *resolve) {
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attr, look_up_thread, resolve);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

struct resolve *resolve_start(struct ev_loop *loop, const char *host, int port, resolve_done *done, void *arg,
                              struct err *err) {
    struct resolve *resolve = xcalloc(1, sizeof *resolve);
    resolve->loop = loop;
    resolve->done = done;
    resolve->arg = arg;
    resolve->host = xstrdup(host);
    snprintf(resolve->port, sizeof resolve->port, "%d", port & 0xffff);
    pthread_mutex_init(&resolve->lock, NULL);
    resolve->holders = 2;
    ev_async_init(&resolve->answered, on_answered);
    resolve->answered.data = resolve;
    ev_async_start(loop, &resolve->answered);
    int error = start_thread(resolve);
    if (!error) return resolve;
    err_set(err, "cannot start a thread: %s", strerror(error));
    resolve->holders = 1;
    resolve_cancel(resolve);
    return NULL;
}
