/* One worker: thread, loop, mailbox, and the parts that live on it. Does not know the other workers. */
#include "app/worker.h"

#include <ev.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/admission.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xmalloc.h"
#include "http/counters.h"
#include "http/events.h"
#include "http/hold.h"
#include "http/http.h"
#include "http/route.h"
#include "limit/decide_script.h"
#include "limit/key_admin.h"
#include "limit/limiter.h"

static const double DRAIN_CHECK_SECONDS = 0.01;
static const int64_t DRAIN_QUIET_US =
    150 * 1000; /* so long without a request before idle connections are closed */

enum { DENIALS_MAX = 4096 }; /* remembered */

struct mail {
    struct mail *next;
    worker_task *task;
    void *arg;
};

struct worker {
    int index;
    const struct worker_settings *settings;
    struct services services;
    struct ev_loop *loop;
    struct http *http;
    struct redis_link *link;
    struct limiter *limiter;
    struct key_admin *keys;
    struct hold *hold;
    bool settled;
    struct config *config; /* in use; services.config points here */
    ev_prepare before_sleep;
    ev_idle stay_awake; /* started while work is left that no descriptor tells of */
    ev_async mail_arrived;
    pthread_mutex_t mail_lock;
    struct mail *mail, **mail_end;
    atomic_uint arriving; /* connections posted and not yet taken */
    ev_timer drain_check;
    int64_t drain_until, last_busy;
    worker_task *drained;
    void *drained_arg;
    pthread_t thread;
};

static _Thread_local struct worker *current;

struct worker *worker_current(void) {
    return current;
}

const struct services *worker_services(const struct worker *worker) {
    return &worker->services;
}

void worker_post(struct worker *worker, worker_task *task, void *arg) {
    struct mail *mail = xmalloc(sizeof *mail);

    *mail = (struct mail){.task = task, .arg = arg};
    pthread_mutex_lock(&worker->mail_lock);
    *worker->mail_end = mail;
    worker->mail_end = &mail->next;
    pthread_mutex_unlock(&worker->mail_lock);
    ev_async_send(worker->loop, &worker->mail_arrived);
}

static struct mail *take_mail(struct worker *worker) {
    struct mail *mail;

    pthread_mutex_lock(&worker->mail_lock);
    mail = worker->mail;
    worker->mail = NULL;
    worker->mail_end = &worker->mail;
    pthread_mutex_unlock(&worker->mail_lock);
    return mail;
}

static void on_mail(struct ev_loop *loop, ev_async *watcher, int events) {
    struct worker *worker = watcher->data;
    struct mail *mail = take_mail(worker);

    (void)loop, (void)events;
    while (mail) {
        struct mail *next = mail->next;

        mail->task(worker, mail->arg);
        free(mail);
        mail = next;
    }
}

struct arrival {
    int fd;
    socklen_t len;
    bool reserved;
    struct sockaddr_storage address;
};

static void take_connection(struct worker *worker, void *arg) {
    struct arrival *arrival = arg;

    atomic_fetch_sub(&worker->arriving, 1); /* first: counted twice, it could be one too many */
    http_add_connection(worker->http, arrival->fd, (const struct sockaddr *)&arrival->address, arrival->len,
                        arrival->reserved);
    free(arrival);
}

void worker_accept(struct worker *worker, int fd, const struct sockaddr *address, socklen_t address_len,
                   bool reserved) {
    struct arrival *arrival = xcalloc(1, sizeof *arrival);

    arrival->fd = fd;
    arrival->len = address_len;
    arrival->reserved = reserved;
    memcpy(&arrival->address, address, address_len);
    atomic_fetch_add(&worker->arriving, 1);
    worker_post(worker, take_connection, arrival);
}

unsigned worker_connections(const struct worker *worker) {
    return http_connections(worker->http) + atomic_load(&worker->arriving);
}

void worker_adopt(struct worker *worker, struct config *config) {
    struct config *old = worker->config;

    worker->config = config_ref(config);
    counters_adopt(worker->services.counters, config);
    limiter_forget_denials(worker->limiter);
    config_unref(old);
}

/* One turn's work leaves here: answers in one MHD_run, commands in one write. A command that cannot be
 * written may be answered at once, which gives microhttpd more to do; what is still left then is done without
 * sleeping. */
static void on_before_sleep(struct ev_loop *loop, ev_prepare *watcher, int events) {
    struct worker *worker = watcher->data;
    bool more = http_run(worker->http);

    (void)events;
    redis_link_flush(worker->link);
    more = http_run(worker->http) || more;
    if (more)
        ev_idle_start(loop, &worker->stay_awake);
    else
        ev_idle_stop(loop, &worker->stay_awake);
}

static void on_idle(struct ev_loop *loop, ev_idle *watcher, int events) {
    (void)loop, (void)watcher, (void)events;
}

static void on_redis_changed(void *arg, bool ready, const char *why) {
    struct worker *worker = arg;

    if (!worker->settled) worker->settings->settled(worker->settings->settled_arg);
    worker->settled = true;
    limiter_forget_denials(worker->limiter);
    if (worker->index != 0) return; /* one of the workers speaks for the process */
    if (ready)
        log_info("Redis is ready");
    else
        log_warn("Redis is not available: %s", why ? why : "connection lost");
}

static bool drain_is_over(struct worker *worker, int64_t now) {
    if (http_in_flight(worker->http) > 0 || atomic_load(&worker->arriving) > 0) worker->last_busy = now;
    return http_connections(worker->http) + atomic_load(&worker->arriving) == 0 ||
           now - worker->last_busy > DRAIN_QUIET_US || now > worker->drain_until;
}

static void on_drain_check(struct ev_loop *loop, ev_timer *watcher, int events) {
    struct worker *worker = watcher->data;

    (void)events;
    if (!drain_is_over(worker, clock_mono_us())) return;
    ev_timer_stop(loop, watcher);
    worker->drained(worker, worker->drained_arg);
}

struct drain_order {
    int grace_ms;
    worker_task *drained;
    void *arg;
};

static void drain(struct worker *worker, void *arg) {
    struct drain_order *order = arg;

    worker->last_busy = clock_mono_us();
    worker->drain_until = worker->last_busy + order->grace_ms * INT64_C(1000);
    worker->drained = order->drained;
    worker->drained_arg = order->arg;
    free(order);
    http_drain(worker->http);
    hold_stop(worker->hold);
    ev_timer_start(worker->loop, &worker->drain_check);
}

void worker_drain(struct worker *worker, int grace_ms, worker_task *drained, void *arg) {
    struct drain_order *order = xmalloc(sizeof *order);

    *order = (struct drain_order){grace_ms, drained, arg};
    worker_post(worker, drain, order);
}

static void finish(struct worker *worker, void *arg) {
    (void)arg;
    ev_break(worker->loop, EVBREAK_ALL);
}

static void *run(void *arg) {
    struct worker *worker = arg;

    current = worker;
    ev_run(worker->loop, 0);
    hold_stop(worker->hold);
    redis_link_free(worker->link); /* answers what waits for it, while microhttpd can still send */
    http_free(worker->http);
    hold_free(worker->hold);
    key_admin_free(worker->keys);
    events_free(worker->services.events);
    counters_free(worker->services.counters);
    limiter_free(worker->limiter);
    config_unref(worker->config);
    return NULL;
}

static void start_watchers(struct worker *worker) {
    ev_prepare_init(&worker->before_sleep, on_before_sleep);
    ev_idle_init(&worker->stay_awake, on_idle);
    ev_async_init(&worker->mail_arrived, on_mail);
    ev_timer_init(&worker->drain_check, on_drain_check, DRAIN_CHECK_SECONDS, DRAIN_CHECK_SECONDS);
    worker->before_sleep.data = worker->mail_arrived.data = worker->drain_check.data = worker;
    ev_prepare_start(worker->loop, &worker->before_sleep);
    ev_async_start(worker->loop, &worker->mail_arrived);
}

static void on_closed(void *arg, const struct sockaddr *address) {
    admission_leave(arg, address);
}

static struct denial_news denial_news(void *arg) {
    const struct config_store *store = ((struct worker *)arg)->services.store;

    return (struct denial_news){config_store_forgets(store), config_store_looked_us(store)};
}

static void start_services(struct worker *worker) {
    size_t count;
    const struct redis_script *const *scripts = decide_scripts(&count);

    worker->link =
        redis_link_new(worker->loop, worker->settings->redis, scripts, count, on_redis_changed, worker);
    worker->limiter = limiter_new(worker->link, worker->settings->local, worker->settings->key_prefix);
    if (worker->settings->denial_cache)
        limiter_use_cache(worker->limiter, denial_cache_new(DENIALS_MAX), denial_news, worker);
    worker->services = worker->settings->services;
    worker->hold = hold_new(worker->loop, HOLD_MAX);
    worker->services.limiter = worker->limiter;
    worker->services.hold = worker->hold;
    worker->keys = key_admin_new(worker->link, worker->settings->key_prefix);
    worker->services.keys = worker->keys;
    worker->services.config = &worker->config;
    worker->services.link = worker->link;
    worker->services.http = worker->http;
    worker->services.loop = worker->loop;
    worker->services.counters = counters_new();
    counters_adopt(worker->services.counters, worker->config);
    worker->services.events = events_new(worker->loop, &worker->services);
}

struct worker *worker_start(int index, const struct worker_settings *settings, struct config *first,
                            struct err *err) {
    const struct http_settings http_settings = {.max_connections =
                                                    settings->max_connections + ADMISSION_RESERVE,
                                                .tls = settings->tls,
                                                .closed = on_closed,
                                                .closed_arg = settings->admission};
    const struct http_callbacks callbacks = {route_headers, route_complete};
    struct worker *worker = xcalloc(1, sizeof *worker);

    worker->index = index;
    worker->settings = settings;
    worker->mail_end = &worker->mail;
    pthread_mutex_init(&worker->mail_lock, NULL);
    worker->loop = ev_loop_new(EVFLAG_AUTO);
    if (!worker->loop) {
        err_set(err, "libev could not make an event loop");
        goto fail;
    }
    worker->http = http_new(worker->loop, &http_settings, &callbacks, &worker->services, err);
    if (!worker->http) goto fail;
    worker->config = config_ref(first);
    start_watchers(worker);
    start_services(worker);
    if (pthread_create(&worker->thread, NULL, run, worker) != 0) abort(); /* out of threads at start */
    return worker;
fail:
    if (worker->loop) ev_loop_destroy(worker->loop);
    pthread_mutex_destroy(&worker->mail_lock);
    free(worker);
    return NULL;
}

void worker_finish(struct worker *worker) {
    worker_post(worker, finish, NULL);
    pthread_join(worker->thread, NULL);
}

void worker_free(struct worker *worker) {
    struct mail *mail;

    while ((mail = worker->mail)) { /* what came too late */
        worker->mail = mail->next;
        free(mail);
    }
    ev_loop_destroy(worker->loop);
    pthread_mutex_destroy(&worker->mail_lock);
    free(worker);
}
