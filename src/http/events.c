/* The event stream of the page. It counts nothing (counters.c) and adds nothing up (lab.c). */
#include "http/events.h"

#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "base/xmalloc.h"
#include "http/handlers.h"
#include "http/lab.h"
#include "http/respond.h"
#include "http/services.h"

static const double TICK_SECONDS = 0.2;
enum {
    PING_TICKS = 5,      /* between two looks at Redis */
    COMMENT_TICKS = 75,  /* 15 s */
    SLOW_US = 100000,    /* without an answer: Redis is slow */
    WAITING_MAX = 262144 /* a reader this far behind misses what comes */
};

struct listener {
    struct listener *next, *prev;
    struct events *events;
    struct stream *stream;
};

struct events {
    struct ev_loop *loop;
    const struct services *services;
    ev_timer tick;
    struct listener *listeners; /* of this worker */
    unsigned ticks;
    struct lab_cursor cursor;
    uint64_t told_version;
    const char *told_redis; /* the state as last told */
    bool pinging;
    int64_t ping_sent_us, latency_us;
};

/* --- telling --- */

static void tell(struct events *events, const char *event, const struct buf *data) {
    struct buf text = BUF_INIT(WAITING_MAX);

    buf_addf(&text, "event: %s\ndata: ", event);
    buf_add(&text, buf_str(data), data->len);
    buf_adds(&text, "\n\n");
    if (!text.overflow)
        for (struct listener *l = events->listeners; l; l = l->next)
            request_stream_write(l->stream, text.data, text.len);
    buf_free(&text);
}

static void tell_stats(struct events *events) {
    struct buf data = BUF_INIT(WAITING_MAX);

    lab_board_read(events->services->lab, &events->cursor, &data);
    tell(events, "stats", &data);
    buf_free(&data);
}

static void tell_config(struct events *events) {
    struct buf data = BUF_INIT(256);
    struct json_out json;

    events->told_version = (*events->services->config)->version;
    json_begin(&json, &data);
    json_object(&json, NULL);
    json_int(&json, "version", (int64_t)events->told_version);
    json_end(&json);
    tell(events, "config", &data);
    buf_free(&data);
}

/* --- Redis --- */

static const char *redis_words(const struct events *events) {
    const struct redis_link *link = events->services->link;
    int64_t waiting_us = redis_link_waiting_us(link);

    if (waiting_us > SLOW_US) return "slow";
    return redis_link_state(link) == REDIS_READY ? "up" : "down";
}

static void tell_health(struct events *events) {
    struct buf data = BUF_INIT(512);
    const struct policy *policy = config_policy(*events->services->config, "default", 7);
    struct json_out json;

    events->told_redis = redis_words(events);
    json_begin(&json, &data);
    json_object(&json, NULL);
    json_str(&json, "redis", events->told_redis);
    json_seconds_ms(&json, "waiting", redis_link_waiting_us(events->services->link));
    if (events->latency_us > 0)
        json_micro(&json, "latency", events->latency_us);
    else
        json_null(&json, "latency");
    json_str(&json, "on_redis_error", on_redis_error_name(policy->on_redis_error));
    json_end(&json);
    tell(events, "health", &data);
    buf_free(&data);
}

static void on_pong(void *arg, enum redis_status status, const struct redis_value *value, const char *error) {
    struct events *events = arg;

    (void)value, (void)error;
    events->pinging = false;
    events->latency_us = status == REDIS_OK ? clock_mono_us() - events->ping_sent_us + 1 : 0;
}

/* Without traffic nobody else would notice that Redis no longer answers. */
static void ping(struct events *events) {
    static const char *const words[] = {"PING"};
    static const size_t lengths[] = {4};

    if (events->pinging) return;
    events->pinging = true;
    events->ping_sent_us = clock_mono_us();
    redis_link_command(events->services->link, 1, words, lengths, on_pong, events);
}

/* --- the beat --- */

static void beat(struct events *events) {
    events->ticks++;
    if (events->ticks % PING_TICKS == 0) ping(events);
    tell_stats(events);
    if ((*events->services->config)->version != events->told_version) tell_config(events);
    if (events->ticks % PING_TICKS == 1 || redis_words(events) != events->told_redis) tell_health(events);
    if (events->ticks % COMMENT_TICKS != 0) return;
    for (struct listener *l = events->listeners; l; l = l->next)
        request_stream_write(l->stream, ": still here\n\n", 14);
}

static void on_tick(struct ev_loop *loop, ev_timer *watcher, int revents) {
    struct events *events = watcher->data;
    const struct services *services = events->services;

    (void)revents;
    if (!lab_listened(services->lab)) {
        counters_watch(services->counters, false);
        ev_timer_stop(loop, watcher);
        return;
    }
    lab_board_add(services->lab, services->counters);
    if (events->listeners) beat(events);
}

void events_wake(struct events *events) {
    struct counters *counters = events->services->counters;
    struct counter_row *const *rows;
    size_t count;

    if (ev_is_active(&events->tick)) return;
    rows = counters_rows(counters, &count); /* what was before is nobody's news */
    for (size_t i = 0; i < count; i++)
        memcpy(rows[i]->told, rows[i]->counts, sizeof rows[i]->told);
    counters_watch(counters, true);
    ev_timer_start(events->loop, &events->tick);
}

struct events *events_new(struct ev_loop *loop, const struct services *services) {
    struct events *events = xcalloc(1, sizeof *events);

    events->loop = loop;
    events->services = services;
    ev_timer_init(&events->tick, on_tick, TICK_SECONDS, TICK_SECONDS);
    events->tick.data = events;
    return events;
}

void events_free(struct events *events) {
    if (!events) return;
    ev_timer_stop(events->loop, &events->tick);
    lab_cursor_free(&events->cursor);
    free(events);
}

/* --- one listener --- */

static void on_closed(void *arg) {
    struct listener *listener = arg;
    struct events *events = listener->events;

    if (listener->prev)
        listener->prev->next = listener->next;
    else
        events->listeners = listener->next;
    if (listener->next) listener->next->prev = listener->prev;
    lab_listener_leave(events->services->lab);
    free(listener);
}

static void wake(const struct services *services, void *arg) {
    (void)arg;
    events_wake(services->events);
}

/* Headers leave with the first bytes, so a listener is told at once how things are. */
static void listen_to(struct events *events, struct request *request) {
    static const struct stream_events stream_events = {.closed = on_closed};
    struct listener *listener = xcalloc(1, sizeof *listener);

    if (!events->listeners) lab_board_skip(events->services->lab, &events->cursor);
    listener->events = events;
    listener->next = events->listeners;
    if (listener->next) listener->next->prev = listener;
    events->listeners = listener;
    respond_security_headers(request);
    request_reply_header(request, "Cache-Control", "no-store");
    listener->stream =
        request_stream_begin(request, 200, "text/event-stream", WAITING_MAX, &stream_events, listener);
    tell_config(events);
    tell_health(events);
}

void events_handle(struct request *request) {
    static const struct services_task waking = {.run = wake};
    const struct services *services = request->services;
    bool first;

    if (request_draining(request)) {
        respond_problem(request, 503, NULL, "The server is stopping.");
    } else if (!lab_listener_enter(services->lab, &first)) {
        respond_problem(request, 503, NULL, "%d event streams are open already. Close one, or try again.",
                        LAB_LISTENERS_MAX);
    } else {
        listen_to(services->events, request);
        if (first) services->everywhere(services->everywhere_arg, &waking);
    }
}
