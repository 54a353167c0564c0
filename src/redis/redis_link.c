/* Commands on their way: each its own object with a deadline, answered once, whatever becomes of the
 * connection.
 *
 * How a connection comes about is redis_conn's. A command sits in two lists: `replies`, in the order in which
 * Redis will answer, and `waiting`, in the order of deadlines, which differs only after a NOSCRIPT. At its
 * deadline the waiter is answered and cut off; the command moves to `late` and stays until its reply comes,
 * which is dropped. While `late` is not empty the link counts as down: whoever comes is told so at once. */
#include "redis/redis_link.h"

#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "base/xmalloc.h"
#include "redis/redis_conn.h"
#include "redis/redis_fault.h"
#include "redis/redis_wire.h"

enum {
    WIRE_MAX = 16 * 1024 * 1024, /* bytes of one command */
    WIRE_KEEP = 4096,            /* memory that a spare command may hold on to */
    SPARE_MAX = 4096,            /* commands kept for reuse */
    HARD_MIN_US = 1000000,       /* a connection that has been silent for less than this is not given up */
    WORDS_MAX = REDIS_FAULT_WORDS
};

struct command {
    STAILQ_ENTRY(command) next; /* in `replies`, or among the spare ones */
    TAILQ_ENTRY(command) near;  /* in `waiting` or `late` */
    redis_done *done;           /* NULL: the waiter has been answered */
    void *arg;
    bool late;                         /* in which of the two lists it is */
    const struct redis_script *script; /* to send again by its text; NULL: no script, or done already */
    int word_count;
    size_t rest; /* offset in `wire` of what follows the digest */
    int64_t since_us;
    struct buf wire; /* the command as sent */
};

STAILQ_HEAD(reply_order, command);
TAILQ_HEAD(deadline_order, command);

struct redis_link {
    struct ev_loop *loop;
    struct redis_conn *conn;
    redis_link_changed *changed;
    void *arg;
    int64_t timeout_us;
    ev_timer timer;      /* at or before the first deadline, while there is one */
    int64_t timer_at_us; /* when it is active */
    struct reply_order replies;
    struct deadline_order waiting, late;
    struct reply_order spare;
    int spare_count;
    bool told_ready;
    char told_why[WORDS_MAX]; /* the last words: the same ones are not told twice in a row */
    bool was_ready;           /* ever */
    uint64_t flushed;         /* of stats.commands, those that were written */
    struct redis_link_stats stats;
};

/* --- command objects --- */

static struct command *command_new(struct redis_link *link, redis_done *done, void *arg) {
    struct command *command = STAILQ_FIRST(&link->spare);
    if (command) {
        STAILQ_REMOVE_HEAD(&link->spare, next);
        link->spare_count--;
    } else {
        command = xcalloc(1, sizeof *command);
        command->wire = (struct buf)BUF_INIT(WIRE_MAX);
    }
    command->done = done;
    command->arg = arg;
    command->script = NULL;
    command->late = false;
    command->since_us = clock_mono_us();
    return command;
}

static void command_free(struct redis_link *link, struct command *command) {
    if (link->spare_count >= SPARE_MAX) {
        buf_free(&command->wire);
        free(command);
        return;
    }
    if (command->wire.cap > WIRE_KEEP)
        buf_free(&command->wire);
    else
        buf_clear(&command->wire);
    STAILQ_INSERT_HEAD(&link->spare, command, next);
    link->spare_count++;
}

/* Answers the waiter, if nobody did yet. The waiter may send further commands. */
static void answer(struct command *command, enum redis_status status, const struct redis_value *value,
                   const char *error) {
    redis_done *done = command->done;
    command->done = NULL;
    if (done) done(command->arg, status, value, error);
}

/* --- ready or not --- */

static void tell(struct redis_link *link, bool ready, const char *why) {
    bool same = ready == link->told_ready && (ready || strcmp(why, link->told_why) == 0);
    link->told_ready = ready;
    snprintf(link->told_why, sizeof link->told_why, "%s", why);
    if (!same && link->changed) link->changed(link->arg, ready, ready ? NULL : link->told_why);
}

static bool is_ready(const struct redis_link *link) {
    return redis_conn_state(link->conn) == REDIS_READY && TAILQ_EMPTY(&link->late);
}

enum redis_state redis_link_state(const struct redis_link *link) {
    enum redis_state state = redis_conn_state(link->conn);
    return state == REDIS_READY && !is_ready(link) ? REDIS_DOWN : state;
}

const char *redis_link_why(const struct redis_link *link) {
    return is_ready(link) ? "" : link->told_why;
}

const struct redis_link_stats *redis_link_stats(const struct redis_link *link) {
    return &link->stats;
}

/* --- deadlines --- */

static int64_t hard_us(const struct redis_link *link) {
    int64_t twice = 2 * link->timeout_us;
    return twice > HARD_MIN_US ? twice : HARD_MIN_US;
}

int64_t redis_link_waiting_us(const struct redis_link *link) {
    const struct command *oldest = TAILQ_FIRST(&link->late);
    if (!oldest) oldest = TAILQ_FIRST(&link->waiting);
    if (!oldest) return 0;
    int64_t age = clock_mono_us() - oldest->since_us;
    return age > 0 ? age : 1;
}

/* The timer is only ever moved forward in time: it may be early, and then looks again. So a command costs no
 * change of timers, unless what it was set for was the later end of a command that was late. */
static void arm(struct redis_link *link, int64_t now_us) {
    const struct command *waiting = TAILQ_FIRST(&link->waiting), *late = TAILQ_FIRST(&link->late);
    if (!waiting && !late) return;
    int64_t at = waiting ? waiting->since_us + link->timeout_us : INT64_MAX;
    if (late && late->since_us + hard_us(link) < at) at = late->since_us + hard_us(link);
    if (ev_is_active(&link->timer)) {
        if (at >= link->timer_at_us) return;
        ev_timer_stop(link->loop, &link->timer);
    }
    link->timer_at_us = at;
    int64_t in_us = at > now_us ? at - now_us : 0;
    ev_timer_set(&link->timer, (double)in_us / 1e6, 0.);
    ev_timer_start(link->loop, &link->timer);
}

static void stall(struct redis_link *link) {
    char why[WORDS_MAX];
    snprintf(why, sizeof why, "no answer within %d ms", (int)(link->timeout_us / 1000));
    tell(link, false, why);
}

/* Cuts the waiters off that have waited long enough. They are told last: what they do may come back here. */
static void expire(struct redis_link *link, int64_t now_us) {
    struct command *command;
    while ((command = TAILQ_FIRST(&link->waiting)) && now_us - command->since_us >= link->timeout_us) {
        TAILQ_REMOVE(&link->waiting, command, near);
        TAILQ_INSERT_TAIL(&link->late, command, near);
        command->late = true;
        link->stats.timeouts++;
        if (link->told_ready) stall(link);
        answer(command, REDIS_LATE, NULL, NULL);
    }
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents) {
    (void)loop;
    (void)revents;
    struct redis_link *link = timer->data;
    redis_conn_poll(link->conn); /* if it was we who slept, the replies are there */
    int64_t now_us = clock_mono_us();
    expire(link, now_us);
    const struct command *late = TAILQ_FIRST(&link->late);
    if (late && now_us - late->since_us >= hard_us(link)) {
        char why[WORDS_MAX];
        snprintf(why, sizeof why, "no answer within %d ms", (int)(hard_us(link) / 1000));
        redis_conn_drop(link->conn, why);
    }
    arm(link, now_us);
}

/* --- replies --- */

static void retire(struct redis_link *link, struct command *command) {
    TAILQ_REMOVE(command->late ? &link->late : &link->waiting, command, near);
    if (command->late && is_ready(link)) tell(link, true, "");
}

/* The script is not there (a restart, SCRIPT FLUSH), so nothing ran: again, with its text and within the same
 * deadline. */
static bool send_text(struct redis_link *link, struct command *command) {
    const struct redis_script *script = command->script;
    struct buf text = BUF_INIT(WIRE_MAX);
    redis_wire_begin(&text, command->word_count);
    redis_wire_text(&text, "EVAL");
    redis_wire_word(&text, script->text, script->len);
    buf_add(&text, command->wire.data + command->rest, command->wire.len - command->rest);
    command->script = NULL;
    bool sent = !text.overflow && redis_conn_send(link->conn, text.data, text.len);
    buf_free(&text);
    if (sent) STAILQ_INSERT_TAIL(&link->replies, command, next);
    return sent;
}

/* Whatever is still on its way would be refused as well, and the next connection shows when that has changed.
 */
static void drop_if_away(struct redis_link *link, const char *error) {
    char why[WORDS_MAX];
    if (!redis_fault_of(error)->away) return;
    redis_fault_describe(error, why, sizeof why);
    redis_conn_drop(link->conn, why);
}

static void on_reply(void *arg, const struct redis_value *value) {
    struct redis_link *link = arg;
    struct command *command = STAILQ_FIRST(&link->replies);
    if (!command) {
        redis_conn_drop(link->conn, "a reply that nobody asked for");
        return;
    }
    STAILQ_REMOVE_HEAD(&link->replies, next);
    const char *error = redis_value_error(value);
    bool missing = error && strncmp(error, "NOSCRIPT", 8) == 0;
    if (missing && command->script && !command->late && send_text(link, command)) return;
    retire(link, command);
    if (error) link->stats.errors++;
    histogram_add(&link->stats.round_trips, clock_mono_us() - command->since_us);
    answer(command, error ? REDIS_ERROR : REDIS_OK, error ? NULL : value, error);
    command_free(link, command);
    if (error) drop_if_away(link, error);
}

static void lose_all(struct redis_link *link) {
    struct reply_order lost = STAILQ_HEAD_INITIALIZER(lost);
    STAILQ_CONCAT(&lost, &link->replies);
    TAILQ_INIT(&link->waiting);
    TAILQ_INIT(&link->late);
    struct command *command;
    while ((command = STAILQ_FIRST(&lost))) {
        STAILQ_REMOVE_HEAD(&lost, next);
        answer(command, REDIS_LOST, NULL, NULL);
        command_free(link, command);
    }
}

static void on_lost(void *arg, const char *why) {
    struct redis_link *link = arg;
    ev_timer_stop(link->loop, &link->timer);
    tell(link, false, why);
    lose_all(link);
}

static void on_failed(void *arg, const char *why) {
    tell(arg, false, why);
}

static void on_ready(void *arg) {
    struct redis_link *link = arg;
    if (link->was_ready) link->stats.reconnects++;
    link->was_ready = true;
    tell(link, true, "");
}

/* --- sending --- */

static void submit(struct redis_link *link, struct command *command) {
    const struct buf *wire = &command->wire;
    if (wire->overflow || !redis_conn_send(link->conn, wire->data, wire->len)) {
        answer(command, REDIS_NOT_READY, NULL, NULL);
        command_free(link, command);
        return;
    }
    STAILQ_INSERT_TAIL(&link->replies, command, next);
    TAILQ_INSERT_TAIL(&link->waiting, command, near);
    link->stats.commands++;
    arm(link, command->since_us);
}

void redis_link_eval(struct redis_link *link, const struct redis_script *script, int key_count, int argc,
                     const char *const *argv, const size_t *argv_len, redis_done *done, void *arg) {
    if (!is_ready(link)) {
        done(arg, REDIS_NOT_READY, NULL, NULL);
        return;
    }
    struct command *command = command_new(link, done, arg);
    struct buf *wire = &command->wire;
    char keys[DECIMAL_TEXT_MAX];
    size_t keys_len = decimal_whole(key_count, keys);
    command->script = script;
    command->word_count = argc + 3;
    redis_wire_begin(wire, command->word_count);
    redis_wire_word(wire, "EVALSHA", 7);
    redis_wire_word(wire, script->sha1, 40);
    command->rest = wire->len;
    redis_wire_word(wire, keys, keys_len);
    for (int i = 0; i < argc; i++)
        redis_wire_word(wire, argv[i], argv_len[i]);
    submit(link, command);
}

void redis_link_command(struct redis_link *link, int argc, const char *const *argv, const size_t *argv_len,
                        redis_done *done, void *arg) {
    if (!is_ready(link)) {
        done(arg, REDIS_NOT_READY, NULL, NULL);
        return;
    }
    struct command *command = command_new(link, done, arg);
    redis_wire_begin(&command->wire, argc);
    for (int i = 0; i < argc; i++)
        redis_wire_word(&command->wire, argv[i], argv_len[i]);
    submit(link, command);
}

void redis_link_flush(struct redis_link *link) {
    if (!redis_conn_flush(link->conn)) return;
    link->stats.writes++;
    if (link->stats.commands > link->flushed)
        histogram_add(&link->stats.batches, (int64_t)(link->stats.commands - link->flushed));
    link->flushed = link->stats.commands;
}

void redis_link_finish(struct redis_link *link, int limit_ms) {
    const struct timespec moment = {.tv_nsec = 1000000};
    int64_t end_us = clock_mono_us() + limit_ms * INT64_C(1000);
    redis_link_flush(link);
    while (!STAILQ_EMPTY(&link->replies) && clock_mono_us() < end_us) {
        nanosleep(&moment, NULL);
        redis_conn_poll(link->conn);
    }
}

/* --- life --- */

struct redis_link *redis_link_new(struct ev_loop *loop, const struct redis_settings *settings,
                                  const struct redis_script *const *scripts, size_t script_count,
                                  redis_link_changed *changed, void *arg) {
    static const struct redis_conn_events events = {
        .ready = on_ready, .lost = on_lost, .failed = on_failed, .reply = on_reply};
    struct redis_link *link = xcalloc(1, sizeof *link);
    link->loop = loop;
    link->changed = changed;
    link->arg = arg;
    link->stats.round_trips.scale = &histogram_times;
    link->stats.batches.scale = &histogram_sizes;
    link->timeout_us = (int64_t)settings->timeout_ms * 1000;
    STAILQ_INIT(&link->replies);
    STAILQ_INIT(&link->spare);
    TAILQ_INIT(&link->waiting);
    TAILQ_INIT(&link->late);
    ev_init(&link->timer, on_timer);
    link->timer.data = link;
    link->conn = redis_conn_new(loop, settings, scripts, script_count, &events, link);
    return link;
}

void redis_link_free(struct redis_link *link) {
    if (!link) return;
    link->changed = NULL;
    redis_conn_drop(link->conn, "stopped");
    lose_all(link);
    ev_timer_stop(link->loop, &link->timer);
    redis_conn_free(link->conn);
    struct command *command;
    while ((command = STAILQ_FIRST(&link->spare))) {
        STAILQ_REMOVE_HEAD(&link->spare, next);
        buf_free(&command->wire);
        free(command);
    }
    free(link);
}
