/* Runs a redis_link on a real loop and records. Checks only what must hold in every test: one answer for each
 * command. */
#include "unit/link_world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xmalloc.h"
#include "unit/unit.h"

struct redis_script counting_script = {.name = "counting",
                                       .text = "return {ARGV[1], redis.call('INCR', KEYS[1])}"};

static void on_changed(void *arg, bool ready, const char *why) {
    struct world *world = arg;
    if (ready) {
        ck_assert_ptr_null(why);
        world->up++;
        return;
    }
    ck_assert_ptr_nonnull(why);
    world->down++;
    snprintf(world->why, sizeof world->why, "%s", why);
}

static void on_flush(struct ev_loop *loop, struct ev_prepare *watcher, int revents) {
    (void)loop;
    (void)revents;
    struct world *world = watcher->data;
    if (world->link) redis_link_flush(world->link);
}

static void on_tick(struct ev_loop *loop, struct ev_timer *watcher, int revents) {
    (void)loop;
    (void)watcher;
    (void)revents;
}

struct world *world_new(const char *socket_path, const char *host, int port) {
    struct world *world = xcalloc(1, sizeof *world);
    signal(SIGPIPE, SIG_IGN);
    redis_script_init(&counting_script);
    world->loop = ev_loop_new(EVFLAG_AUTO);
    ev_prepare_init(&world->flush, on_flush);
    world->flush.data = world;
    ev_prepare_start(world->loop, &world->flush);
    ev_timer_init(&world->tick, on_tick, 0.001, 0.001);
    ev_timer_start(world->loop, &world->tick);
    world->settings =
        (struct redis_settings){.socket_path = socket_path, .host = host, .port = port, .timeout_ms = 250};
    return world;
}

void world_open(struct world *world) {
    static const struct redis_script *const scripts[] = {&counting_script};
    world->link = redis_link_new(world->loop, &world->settings, scripts, 1, on_changed, world);
}

void world_free(struct world *world) {
    redis_link_free(world->link);
    for (int i = 0; i < world->count; i++) {
        ck_assert_msg(world->asked[i].answers == 1, "command %d of %d was answered %d times", i, world->count,
                      world->asked[i].answers);
    }
    ev_loop_destroy(world->loop);
    free(world);
}

static void on_done(void *arg, enum redis_status status, const struct redis_value *value, const char *error) {
    struct asked *asked = arg;
    asked->answers++;
    asked->world->answered++;
    asked->status = status;
    asked->answered_us = clock_mono_us();
    ck_assert_int_eq(value != NULL, status == REDIS_OK);
    ck_assert_int_eq(error != NULL, status == REDIS_ERROR);
    if (error) snprintf(asked->error, sizeof asked->error, "%s", error);
    if (!redis_value_int(value, &asked->number)) redis_value_int(redis_value_at(value, 1), &asked->number);
}

static struct asked *next_asked(struct world *world) {
    ck_assert_int_lt(world->count, ASKED_MAX);
    struct asked *asked = &world->asked[world->count++];
    asked->world = world;
    asked->number = -1;
    asked->sent_us = clock_mono_us();
    return asked;
}

struct asked *world_eval(struct world *world, const char *key) {
    struct asked *asked = next_asked(world);
    const char *words[] = {key, "word"};
    const size_t lengths[] = {strlen(key), 4};
    redis_link_eval(world->link, &counting_script, 1, 2, words, lengths, on_done, asked);
    return asked;
}

struct asked *world_ask(struct world *world, const char *first, const char *second, const char *third) {
    struct asked *asked = next_asked(world);
    const char *words[] = {first, second, third};
    size_t lengths[3];
    int count = 0;
    while (count < 3 && words[count]) {
        lengths[count] = strlen(words[count]);
        count++;
    }
    redis_link_command(world->link, count, words, lengths, on_done, asked);
    return asked;
}

/* Turns the loop until `until` holds or the time is over; true if it held. */
static bool turn(struct world *world, bool (*until)(struct world *, const void *), const void *arg,
                 int limit_ms) {
    int64_t end = clock_mono_us() + limit_ms * 1000LL;
    while (!until(world, arg)) {
        if (clock_mono_us() >= end) return false;
        ev_run(world->loop, EVRUN_ONCE);
    }
    return true;
}

static bool never(struct world *world, const void *arg) {
    (void)world;
    (void)arg;
    return false;
}

static bool in_state(struct world *world, const void *arg) {
    return redis_link_state(world->link) == *(const enum redis_state *)arg;
}

static bool all_answered(struct world *world, const void *arg) {
    (void)arg;
    return world->answered >= world->count;
}

static bool said(struct world *world, const void *arg) {
    return strstr(world->why, arg) != NULL;
}

void world_turn(struct world *world, int milliseconds) {
    turn(world, never, NULL, milliseconds);
}

bool world_until_state(struct world *world, enum redis_state state, int limit_ms) {
    return turn(world, in_state, &state, limit_ms);
}

bool world_until_answered(struct world *world, int limit_ms) {
    return turn(world, all_answered, NULL, limit_ms);
}

bool world_until_why(struct world *world, const char *part, int limit_ms) {
    return turn(world, said, part, limit_ms);
}
