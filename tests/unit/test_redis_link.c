/* The link against a real redis-server: the ordinary way, and every way of losing it. Odd servers:
 * test_redis_odd.c. */
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "unit/link_world.h"
#include "unit/private_redis.h"
#include "unit/unit.h"

enum { SOON_MS = 2000, TIMEOUT_US = 250000, SLACK_US = 100000 };

static struct private_redis redis;
static struct world *world;

static void setup(void) {
    private_redis_start(&redis, NULL, 0);
    world = world_new(redis.socket, NULL, 0);
}

static void teardown(void) {
    world_free(world);
    private_redis_stop(&redis);
}

static void open_ready(void) {
    world_open(world);
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
}

/* Decisions come from Redis again, with the right count. */
static void check_works(const char *key, int64_t expected) {
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
    struct asked *asked = world_eval(world, key);
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_eq(asked->status, REDIS_OK);
    ck_assert_int_eq(asked->number, expected);
}

START_TEST(answers_a_script_and_a_command) {
    open_ready();
    check_works("k", 1);
    check_works("k", 2);
    struct asked *asked = world_ask(world, "STRLEN", "k", NULL);
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_eq(asked->number, 1);
    asked = world_ask(world, "LPUSH", "k", "x");
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_eq(asked->status, REDIS_ERROR);
    CHECK_CONTAINS(asked->error, "WRONGTYPE");
    ck_assert_int_eq(world->up, 1);
    ck_assert_int_eq(world->down, 0);
    ck_assert_int_eq(redis_link_waiting_us(world->link), 0);
}
END_TEST

START_TEST(one_turn_is_one_write) {
    open_ready();
    uint64_t before = redis_link_stats(world->link)->writes;
    for (int i = 0; i < 500; i++)
        world_eval(world, "k");
    ck_assert(world_until_answered(world, SOON_MS));
    for (int i = 0; i < 500; i++)
        ck_assert_int_eq(world->asked[i].number, i + 1);
    ck_assert_int_eq(redis_link_stats(world->link)->writes - before, 1);
    ck_assert_int_eq(redis_link_stats(world->link)->commands, 500);
}
END_TEST

START_TEST(more_than_a_socket_takes_arrives_whole) {
    static char large[3000001];
    memset(large, 'x', sizeof large - 1);
    world->settings.timeout_ms = 5 * SOON_MS;
    open_ready();
    struct asked *asked[3];
    for (int i = 0; i < 3; i++)
        asked[i] = world_ask(world, "APPEND", "k", large);
    ck_assert(world_until_answered(world, 5 * SOON_MS));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(asked[i]->number, (i + 1) * 3000000);
}
END_TEST

START_TEST(refuses_at_once_before_it_is_ready) {
    world_open(world);
    struct asked *asked = world_eval(world, "k");
    ck_assert_int_eq(asked->answers, 1);
    ck_assert_int_eq(asked->status, REDIS_NOT_READY);
    check_works("k", 1); /* the refused one never ran */
}
END_TEST

START_TEST(comes_up_when_redis_does) {
    private_redis_kill(&redis);
    world_open(world);
    ck_assert(world_until_why(world, "No such file", SOON_MS));
    world_turn(world, 1500);
    ck_assert_int_eq(world->down, 1); /* the same words are not repeated */
    ck_assert_int_eq(world_eval(world, "k")->status, REDIS_NOT_READY);
    private_redis_restart(&redis);
    check_works("k", 1);
}
END_TEST

/* As after a failover: the connection stays, and only writes are refused. */
START_TEST(a_replica_is_not_ready) {
    world->settings.probe_key = "probe";
    open_ready();
    check_works("k", 1);
    struct world *admin = world_new(redis.socket, NULL, 0);
    world_open(admin);
    ck_assert(world_until_state(admin, REDIS_READY, SOON_MS));
    world_ask(admin, "REPLICAOF", "127.0.0.1", "1");
    ck_assert(world_until_answered(admin, SOON_MS));
    ck_assert_int_eq(world_eval(world, "k")->answers, 0);
    ck_assert(world_until_why(world, "READONLY", SOON_MS));
    CHECK_CONTAINS(world->why, "replica");
    ck_assert_int_eq(world_eval(world, "k")->status, REDIS_NOT_READY);
    world_turn(world, 500);
    ck_assert_int_eq(world->down, 1); /* it tries, and says no more than once why it fails */
    ck_assert_int_eq(world->up, 1);
    world_ask(admin, "REPLICAOF", "NO", "ONE");
    ck_assert(world_until_answered(admin, SOON_MS));
    check_works("k", 2);
    world_free(admin);
}
END_TEST

/* A stall that ends leaves nothing behind by which the next one would be noticed later. */
START_TEST(a_second_stall_is_noticed_in_time) {
    open_ready();
    for (int i = 0; i < 2; i++) {
        kill(redis.pid, SIGSTOP);
        struct asked *asked = world_eval(world, "k");
        ck_assert(world_until_answered(world, SOON_MS));
        ck_assert_int_eq(asked->status, REDIS_LATE);
        ck_assert_int_lt(asked->answered_us - asked->sent_us, TIMEOUT_US + SLACK_US);
        kill(redis.pid, SIGCONT);
        ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
    }
}
END_TEST

START_TEST(survives_a_restart) {
    open_ready();
    check_works("k", 1);
    world_ask(world, "BLPOP", "nothing", "0");
    world_turn(world, 20);
    private_redis_kill(&redis);
    ck_assert(world_until_answered(world, 100));
    ck_assert_int_eq(world->asked[1].status, REDIS_LOST);
    ck_assert_int_eq(world_eval(world, "k")->status, REDIS_NOT_READY);
    ck_assert_int_eq(world->down, 1);
    private_redis_restart(&redis);
    check_works("k", 1); /* a new server, to which the script had to be given again */
    ck_assert_int_eq(redis_link_stats(world->link)->reconnects, 1);
    ck_assert_int_eq(world->up, 2);
}
END_TEST

START_TEST(a_stopped_redis_delays_nobody_longer_than_the_timeout) {
    open_ready();
    kill(redis.pid, SIGSTOP);
    struct asked *first = world_eval(world, "k");
    world_turn(world, 100);
    struct asked *second = world_eval(world, "k");
    ck_assert_int_ge(redis_link_waiting_us(world->link), 100000);
    ck_assert(world_until_answered(world, SOON_MS));
    struct asked *both[] = {first, second};
    for (int i = 0; i < 2; i++) {
        int64_t took = both[i]->answered_us - both[i]->sent_us;
        ck_assert_int_eq(both[i]->status, REDIS_LATE);
        ck_assert_int_ge(took, TIMEOUT_US);
        ck_assert_int_le(took, TIMEOUT_US + SLACK_US);
    }
    CHECK_CONTAINS(world->why, "no answer within 250 ms");
    ck_assert_int_eq(redis_link_state(world->link), REDIS_DOWN);
    ck_assert_int_eq(world_eval(world, "k")->status, REDIS_NOT_READY); /* known to be down: at once */
    ck_assert(world_until_why(world, "no answer within 1000 ms", SOON_MS));
    world_turn(world, 1500);
    ck_assert_int_eq(redis_link_stats(world->link)->timeouts, 2);
    kill(redis.pid, SIGCONT);
    check_works("other", 1);
}
END_TEST

START_TEST(a_short_stall_needs_no_new_connection) {
    open_ready();
    kill(redis.pid, SIGSTOP);
    struct asked *late = world_eval(world, "k");
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_eq(late->status, REDIS_LATE);
    world_turn(world, 100);
    kill(redis.pid, SIGCONT);
    check_works("k", 2); /* the late one ran, and its reply went to nobody */
    ck_assert_int_eq(redis_link_stats(world->link)->reconnects, 0);
    ck_assert_int_eq(world->up, 2);
    ck_assert_int_eq(redis_link_waiting_us(world->link), 0);
}
END_TEST

/* If the program itself was stopped, replies are waiting: nobody is to be told that Redis was late. */
START_TEST(our_own_sleep_is_not_held_against_redis) {
    open_ready();
    struct asked *asked = world_eval(world, "k");
    redis_link_flush(world->link);
    int64_t end = clock_mono_us() + TIMEOUT_US + SLACK_US;
    while (clock_mono_us() < end)
        continue;
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_eq(asked->status, REDIS_OK);
}
END_TEST

START_TEST(survives_client_kill_under_load) {
    open_ready();
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 50; i++)
            world_eval(world, "k");
        redis_link_flush(world->link);
        private_redis_do(&redis, "CLIENT", "KILL", "TYPE", "normal", NULL);
        ck_assert(world_until_answered(world, SOON_MS));
        ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
    }
    int64_t ran = 0, unsure = 0;
    for (int i = 0; i < world->count; i++) {
        ran += world->asked[i].status == REDIS_OK;
        unsure += world->asked[i].status == REDIS_LOST;
    }
    ck_assert_int_eq(ran + unsure, 500);
    struct asked *last = world_eval(world, "k");
    ck_assert(world_until_answered(world, SOON_MS));
    ck_assert_int_gt(last->number, ran); /* none twice */
    ck_assert_int_le(last->number, ran + unsure + 1);
}
END_TEST

START_TEST(a_lost_script_is_sent_again_and_runs_once) {
    open_ready();
    for (int round = 0; round < 20; round++) {
        private_redis_do(&redis, "SCRIPT", "FLUSH", NULL);
        for (int i = 0; i < 10; i++)
            world_eval(world, "k");
        ck_assert(world_until_answered(world, SOON_MS));
    }
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(world->asked[i].status, REDIS_OK);
    check_works("k", 201);
    ck_assert_int_eq(redis_link_stats(world->link)->reconnects, 0);
    struct asked *plain = world_ask(world, "EVALSHA", "0123456789012345678901234567890123456789", "0");
    ck_assert(world_until_answered(world, SOON_MS));
    CHECK_CONTAINS(plain->error, "NOSCRIPT");
}
END_TEST

START_TEST(freeing_answers_what_waits) {
    open_ready();
    struct asked *asked = world_ask(world, "BLPOP", "nothing", "0");
    redis_link_free(world->link);
    world->link = NULL;
    ck_assert_int_eq(asked->answers, 1);
    ck_assert_int_eq(asked->status, REDIS_LOST);
}
END_TEST

/* --- passwords, databases, names --- */

static void teardown_own(void) {
    if (world) world_free(world);
    private_redis_stop(&redis);
}

START_TEST(logs_in_and_selects) {
    private_redis_start(&redis, "s3cret", 0);
    world = world_new(redis.socket, NULL, 0);
    world->settings.password = "s3cret";
    world->settings.db = 3;
    open_ready();
    check_works("k", 1);
    ck_assert_int_eq(private_redis_do(&redis, "EXISTS", "k", NULL), 0); /* not in database 0 */
}
END_TEST

START_TEST(logs_in_as_a_user) {
    private_redis_start(&redis, "s3cret", 0);
    private_redis_do(&redis, "ACL", "SETUSER", "limiter", "on", ">word", "~*", "+@all", NULL);
    world = world_new(redis.socket, NULL, 0);
    world->settings.user = "limiter";
    world->settings.password = "word";
    open_ready();
    check_works("k", 1);
}
END_TEST

START_TEST(says_why_it_may_not_log_in) {
    private_redis_start(&redis, "s3cret", 0);
    world = world_new(redis.socket, NULL, 0);
    world->settings.password = "wr0ng";
    world_open(world);
    ck_assert(world_until_why(world, "WRONGPASS", SOON_MS));
    ck_assert_ptr_null(strstr(world->why, "wr0ng"));
    ck_assert_int_eq(world_eval(world, "k")->status, REDIS_NOT_READY);
    world->settings.password = "s3cret";
    check_works("k", 1);
    world->settings.password = NULL;
    private_redis_do(&redis, "CLIENT", "KILL", "TYPE", "normal", NULL);
    ck_assert(world_until_why(world, "NOAUTH", SOON_MS));
}
END_TEST

START_TEST(finds_a_host_by_name) {
    private_redis_start(&redis, NULL, 1);
    world = world_new(NULL, "localhost", redis.port); /* ::1 may come first, where nobody listens */
    open_ready();
    check_works("k", 1);
    private_redis_kill(&redis);
    ck_assert(world_until_why(world, "Connection refused", SOON_MS));
    private_redis_restart(&redis);
    check_works("k", 1);
}
END_TEST

START_TEST(an_unfinished_look_up_can_be_left) {
    private_redis_start(&redis, NULL, 0);
    for (int i = 0; i < 20; i++) {
        world = world_new(NULL, "name.invalid", 1);
        world_open(world);
        world_until_state(world, REDIS_RESOLVING, SOON_MS);
        if (i == 19) world_until_why(world, "cannot resolve name.invalid", 30000);
        if (i == 19) CHECK_CONTAINS(world->why, "cannot resolve name.invalid");
        world_free(world);
    }
    world = NULL;
}
END_TEST

int main(void) {
    Suite *suite = suite_create("redis_link");
    TCase *plain = tcase_create("one server");
    tcase_add_checked_fixture(plain, setup, teardown);
    tcase_set_timeout(plain, 30);
    tcase_add_test(plain, answers_a_script_and_a_command);
    tcase_add_test(plain, one_turn_is_one_write);
    tcase_add_test(plain, more_than_a_socket_takes_arrives_whole);
    tcase_add_test(plain, refuses_at_once_before_it_is_ready);
    tcase_add_test(plain, comes_up_when_redis_does);
    tcase_add_test(plain, a_replica_is_not_ready);
    tcase_add_test(plain, a_second_stall_is_noticed_in_time);
    tcase_add_test(plain, survives_a_restart);
    tcase_add_test(plain, a_stopped_redis_delays_nobody_longer_than_the_timeout);
    tcase_add_test(plain, a_short_stall_needs_no_new_connection);
    tcase_add_test(plain, our_own_sleep_is_not_held_against_redis);
    tcase_add_test(plain, survives_client_kill_under_load);
    tcase_add_test(plain, a_lost_script_is_sent_again_and_runs_once);
    tcase_add_test(plain, freeing_answers_what_waits);
    suite_add_tcase(suite, plain);
    TCase *own = tcase_create("own server");
    tcase_add_checked_fixture(own, NULL, teardown_own);
    tcase_set_timeout(own, 60);
    tcase_add_test(own, logs_in_and_selects);
    tcase_add_test(own, logs_in_as_a_user);
    tcase_add_test(own, says_why_it_may_not_log_in);
    tcase_add_test(own, finds_a_host_by_name);
    tcase_add_test(own, an_unfinished_look_up_can_be_left);
    suite_add_tcase(suite, own);
    return unit_main(suite);
}
