/* A connection that is only listened to: SUBSCRIBE when it is ready, then whatever comes.
 *
 * Connecting and coming back are redis_conn's. What a message says is not looked at. */
#include "redis/redis_subscriber.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xmalloc.h"
#include "redis/redis_conn.h"
#include "redis/redis_wire.h"

enum { COMMAND_MAX = 1024 };

struct redis_subscriber {
    struct redis_conn *conn;
    char *channel;
    const char *news;
    redis_heard *heard;
    void *arg;
    bool complained; /* Redis refused; told once until it takes it */
};

static void on_ready(void *arg) {
    struct redis_subscriber *subscriber = arg;
    struct buf out = BUF_INIT(COMMAND_MAX);
    redis_wire_begin(&out, 2);
    redis_wire_text(&out, "SUBSCRIBE");
    redis_wire_text(&out, subscriber->channel);
    redis_conn_send(subscriber->conn, out.data, out.len);
    buf_free(&out);
    redis_conn_flush(subscriber->conn);
}

/* That it is away is told by those who need more of it. */
static void on_away(void *arg, const char *why) {
    (void)arg, (void)why;
}

static void on_reply(void *arg, const struct redis_value *value) {
    struct redis_subscriber *subscriber = arg;
    const char *error = redis_value_error(value);
    if (error && !subscriber->complained)
        log_warn("Redis refuses SUBSCRIBE %s: %s; %s are noticed by polling alone", subscriber->channel,
                 error, subscriber->news);
    subscriber->complained = error != NULL;
    if (!error) subscriber->heard(subscriber->arg);
}

struct redis_subscriber *redis_subscriber_new(struct ev_loop *loop, const struct redis_settings *settings,
                                              const char *channel, const char *news, redis_heard *heard,
                                              void *arg) {
    static const struct redis_conn_events events = {
        .ready = on_ready, .lost = on_away, .failed = on_away, .reply = on_reply};
    struct redis_subscriber *subscriber = xcalloc(1, sizeof *subscriber);
    subscriber->channel = xstrdup(channel);
    subscriber->news = news;
    subscriber->heard = heard;
    subscriber->arg = arg;
    subscriber->conn = redis_conn_new(loop, settings, NULL, 0, &events, subscriber);
    return subscriber;
}

void redis_subscriber_free(struct redis_subscriber *subscriber) {
    if (!subscriber) return;
    redis_conn_free(subscriber->conn);
    free(subscriber->channel);
    free(subscriber);
}
