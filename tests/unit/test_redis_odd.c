/* The link against servers that are none, or no good ones: odd replies, silence, refusals. It must stay
 * alive, answer each command once and in time, and be back with the server. */
#include <stdio.h>

#include "base/clock.h"
#include "unit/link_world.h"
#include "unit/stub_redis.h"
#include "unit/unit.h"

enum { SOON_MS = 2000 };

static struct stub_redis stub;
static struct world *world;

static void setup(void) {
    stub_redis_start(&stub);
    world = world_new(NULL, "127.0.0.1", stub.port);
}

static void teardown(void) {
    world_free(world);
    stub_redis_stop(&stub);
}

static void open_ready(void) {
    world_open(world);
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
}

static const struct odd_reply {
    const char *reply;
    enum redis_status status;
    bool hang_up;
} odd_replies[] = {
    {"$-1\r\n", REDIS_OK, false},
    {"*0\r\n", REDIS_OK, false},
    {"*-1\r\n", REDIS_OK, false},
    {":1\r\n", REDIS_OK, false},
    {"+OK\r\n", REDIS_OK, false},
    {"+\r\n", REDIS_OK, false},
    {"$0\r\n\r\n", REDIS_OK, false},
    {"*2\r\n:1\r\n$-1\r\n", REDIS_OK, false},
    {"*2\r\n*2\r\n:1\r\n:2\r\n-ERR inside\r\n", REDIS_OK, false},
    {"-ERR x\r\n", REDIS_ERROR, false},
    {"-\r\n", REDIS_ERROR, false},
    {"-LOADING Redis is loading the dataset in memory\r\n", REDIS_ERROR, false},
    {"-MOVED 866 127.0.0.1:7001\r\n", REDIS_ERROR, false},
    {"-NOSCRIPT no\r\n", REDIS_ERROR, false}, /* to EVAL as well: not for ever */
    {"garbage\r\n", REDIS_LOST, false},
    {"\r\n", REDIS_LOST, false},
    {"HTTP/1.1 400 Bad Request\r\n\r\n", REDIS_LOST, false},
    {":12x\r\n", REDIS_LOST, false},
    {"*1000000000\r\n", REDIS_LOST, false}, /* no room is made for what is only announced */
    {"*65537\r\n:1\r\n", REDIS_LOST, false},
    {"*2\r\n:1", REDIS_LOST, true},
    {"$10\r\nhalf", REDIS_LOST, true},
    {"", REDIS_LOST, true},
    {"+OK\r\n", REDIS_OK, true},
    {"*2\r\n:1\r\n", REDIS_LATE, false}, /* the other half never comes */
    {"", REDIS_LATE, false},
};

START_TEST(odd_replies_are_survived) {
    const struct odd_reply *odd = &odd_replies[_i];
    stub.reply = odd->reply;
    stub.hang_up = odd->hang_up;
    if (odd->status != REDIS_LATE) world->settings.timeout_ms = SOON_MS; /* a busy machine is not the point */
    open_ready();
    struct asked *asked = world_eval(world, "k");
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_eq(asked->status, odd->status);
    stub.reply = ":7\r\n";
    stub.hang_up = false;
    world_turn(world, 5);
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
    asked = world_eval(world, "k");
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_eq(asked->status, REDIS_OK);
    ck_assert_int_eq(asked->number, 7);
}
END_TEST

/* hiredis before 1.0 gives up at the seventh level; later ones read on. */
START_TEST(a_deep_reply_is_survived) {
    stub.reply = "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n";
    open_ready();
    struct asked *asked = world_eval(world, "k");
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert(asked->status == REDIS_LOST || asked->status == REDIS_OK);
}
END_TEST

static const struct long_reply {
    const char *head, *tail;
    size_t filling;
    enum redis_status status;
} long_replies[] = {
    {"+", "\r\n", 65536, REDIS_OK},
    {"-", "\r\n", 65535, REDIS_ERROR},
    {"+", "", 70000, REDIS_LOST},
    {"-", "", 70000, REDIS_LOST},
    {"$3000000\r\n", "\r\n", 3000000, REDIS_OK},
    {"$4194305\r\n", "", 0, REDIS_LOST},
    {"$99999999999999\r\n", "", 0, REDIS_LOST},
    {"*2\r\n$3000000\r\n", "\r\n$3000000\r\n", 3000000, REDIS_LATE},
};

/* Whatever can be legal is read; what cannot ends the connection before it is all there. */
START_TEST(long_replies_are_bounded) {
    const struct long_reply *as = &long_replies[_i];
    size_t head = strlen(as->head);
    char *reply = malloc(head + as->filling + strlen(as->tail) + 1);
    ck_assert_ptr_nonnull(reply);
    strcpy(reply, as->head);
    memset(reply + head, 'x', as->filling);
    strcpy(reply + head + as->filling, as->tail);
    stub.reply = reply;
    if (as->status != REDIS_LATE) world->settings.timeout_ms = SOON_MS;
    open_ready();
    struct asked *asked = world_eval(world, "k");
    ck_assert(world_until_answered(world, 2 * SOON_MS));
    ck_assert_int_eq(asked->status, as->status);
    stub.reply = ":7\r\n";
    world_free(world);
    world = NULL;
    stub_redis_stop(&stub);
    free(reply);
    setup();
}
END_TEST

START_TEST(a_reply_that_nobody_asked_for) {
    stub.reply = ":1\r\n:2\r\n:3\r\n";
    open_ready();
    struct asked *asked = world_eval(world, "k");
    ck_assert(world_until_why(world, "nobody asked for", SOON_MS));
    ck_assert_int_eq(asked->status, REDIS_OK);
    ck_assert_int_eq(asked->number, 1);
    stub.reply = ":7\r\n";
    ck_assert(
        world_until_state(world, REDIS_READY, SOON_MS)); /* and no reply is given to the wrong command */
    asked = world_eval(world, "k");
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_eq(asked->number, 7);
}
END_TEST

static const char *const refusals[][2] = {
    {"-LOADING Redis is loading the dataset in memory\r\n", "LOADING"},
    {"-NOAUTH Authentication required.\r\n", "NOAUTH"},
    {"-NOPERM this user has no permissions\r\n", "NOPERM"},
    {"-ERR max number of clients reached\r\n", "max number"},
    {"+OK\r\n", "not the script's digest"},
    {"$-1\r\n", "not the script's digest"},
    {"$40\r\n0000000000000000000000000000000000000000\r\n", "not the script's digest"},
    {"SSH-2.0-OpenSSH\r\n", "cannot read its reply"},
    {"", "no answer within 500 ms"},
};

START_TEST(a_refused_handshake_is_said_and_tried_again) {
    stub.login = refusals[_i][0];
    stub.reply = ":7\r\n";
    world_open(world);
    ck_assert(world_until_why(world, refusals[_i][1], SOON_MS));
    ck_assert_int_eq(world_eval(world, "k")->status, REDIS_NOT_READY);
    int tries = stub.accepts;
    world_turn(world, 700);
    ck_assert_int_gt(stub.accepts, tries);
    ck_assert_int_eq(world->down, 1);
    stub.login = NULL;
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
    ck_assert_int_eq(world_eval(world, "k")->answers, 0);
    ck_assert(world_until_answered(world, SOON_MS));
}
END_TEST

/* 50 ms and doubling to 1 s, jitter within these bounds. */
START_TEST(attempts_back_off) {
    stub.login = "-ERR no\r\n";
    world_open(world);
    world_turn(world, 4000);
    world_free(world);
    stub_redis_stop(&stub);
    int tries = stub.accepts;
    ck_assert_int_ge(tries, 6);
    ck_assert_int_le(tries, 13);
    for (int i = 1; i < tries; i++) {
        int64_t gap = stub.accepted_us[i] - stub.accepted_us[i - 1], base = 50000 << (i < 6 ? i - 1 : 5);
        if (base > 1000000) base = 1000000;
        ck_assert_int_ge(gap, (base / 2 > 50000 ? base / 2 : 50000) - 5000);
        ck_assert_int_le(gap, base + 250000);
    }
    setup();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("redis_odd");
    TCase *tcase = tcase_create("stub");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, odd_replies_are_survived, 0, (int)(sizeof odd_replies / sizeof *odd_replies));
    tcase_add_loop_test(tcase, long_replies_are_bounded, 0,
                        (int)(sizeof long_replies / sizeof *long_replies));
    tcase_add_test(tcase, a_deep_reply_is_survived);
    tcase_add_test(tcase, a_reply_that_nobody_asked_for);
    tcase_add_loop_test(tcase, a_refused_handshake_is_said_and_tried_again, 0,
                        (int)(sizeof refusals / sizeof *refusals));
    tcase_add_test(tcase, attempts_back_off);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
