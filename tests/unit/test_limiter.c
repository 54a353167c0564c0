/* The limiter over a real link: decisions from Redis, the policy's answer when there is none, replies that
 * are not the script's. The arithmetic is tested in tests/property. */
#include "limit/decide_script.h"
#include "limit/limiter.h"

#include <stdio.h>

#include "base/decimal.h"
#include "unit/link_world.h"
#include "unit/private_redis.h"
#include "unit/stub_redis.h"
#include "unit/unit.h"

enum { SOON_MS = 2000 };

static struct private_redis redis;
static struct world *world;
static struct limiter *limiter;
static struct local_limiter *local;
static struct policy policy;
static struct decision last;
static int answers;

static void make_policy(void) {
    policy = (struct policy){.name = "default", .cost = 1, .cost_max = 3, .limit_count = 1};
    limit_settings_default(&policy.limits[0], algorithms[0]);
    policy.limits[0].params[0] = 3 * MICRO;
    policy.limits[0].params[2] = 100 * MICRO;
    policy.on_redis_error = ON_REDIS_ERROR_OPEN;
    answers = 0;
}

/* The world's link loads the counting script; the limiter needs its own. */
static void open_link(const struct redis_script *const *scripts, size_t count) {
    local = local_limiter_new(LOCAL_KEYS_MAX, LOCAL_BYTES_MAX);
    world->link = redis_link_new(world->loop, &world->settings, scripts, count, NULL, NULL);
    limiter = limiter_new(world->link, local, "rl:");
}

static void setup(void) {
    size_t count;
    const struct redis_script *const *scripts = decide_scripts(&count);
    make_policy();
    private_redis_start(&redis, NULL, 0);
    world = world_new(redis.socket, NULL, 0);
    open_link(scripts, count);
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
}

static void teardown(void) {
    world_free(world);
    limiter_free(limiter);
    local_limiter_free(local);
    private_redis_stop(&redis);
}

static void on_decision(void *arg, const struct decision *decision) {
    ck_assert_ptr_eq(arg, &last);
    last = *decision;
    answers++;
}

static void decide(int64_t cost, enum limiter_mode mode) {
    int before = answers;
    limiter_decide(limiter, &policy, "ip:1", 4, cost, mode, on_decision, &last);
    for (int i = 0; i < SOON_MS && answers == before; i++)
        world_turn(world, 1);
    ck_assert_int_eq(answers, before + 1);
    ck_assert_int_eq(last.cost, cost);
}

static void check_unchecked(enum decision_outcome outcome) {
    ck_assert_int_eq(last.outcome, outcome);
    ck_assert_int_eq(last.source, SOURCE_NONE);
    ck_assert_int_eq(last.count, 0); /* no made-up numbers */
}

START_TEST(decides) {
    for (int64_t left = 2; left >= 0; left--) {
        decide(1, LIMITER_TAKE);
        ck_assert_int_eq(last.outcome, DECISION_ALLOWED);
        ck_assert_int_eq(last.source, SOURCE_REDIS);
        ck_assert_int_eq(last.count, 1);
        ck_assert_int_eq(last.limits[0].remaining, left);
        ck_assert_int_gt(last.now_us, 1700000000000000);
    }
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.outcome, DECISION_DENIED);
    ck_assert_int_gt(last.limits[0].retry_after_us, 99 * MICRO);
    ck_assert_int_le(last.limits[0].retry_after_us, 100 * MICRO);
    ck_assert_int_eq(private_redis_do(&redis, "EXISTS", "rl:default:token_bucket:{ip:1}", NULL), 1);
    ck_assert_int_eq(private_redis_do(&redis, "DBSIZE", NULL), 1);
}
END_TEST

START_TEST(peeks_and_looks) {
    decide(2, LIMITER_PEEK);
    ck_assert_int_eq(last.outcome, DECISION_ALLOWED);
    ck_assert_int_eq(private_redis_do(&redis, "DBSIZE", NULL), 0);
    decide(2, LIMITER_TAKE);
    decide(2, LIMITER_LOOK);
    ck_assert_int_eq(last.outcome, DECISION_DENIED);
    ck_assert_int_eq(last.limits[0].remaining, 1);
    ck_assert_int_eq(last.limits[0].wait_one_us, 0);
}
END_TEST

START_TEST(shadow_lets_through_and_tells) {
    policy.on_limit = ON_LIMIT_SHADOW;
    decide(3, LIMITER_TAKE);
    ck_assert(!last.shadow_denied);
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.outcome, DECISION_ALLOWED);
    ck_assert(last.shadow_denied);
    ck_assert_int_gt(last.limits[0].retry_after_us, 0);
}
END_TEST

START_TEST(delay_holds_and_then_refuses) {
    policy.on_limit = ON_LIMIT_DELAY;
    policy.max_delay_us = 150 * MICRO;
    decide(3, LIMITER_TAKE);
    ck_assert_int_eq(last.delayed_us, 0);
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.outcome, DECISION_ALLOWED);
    ck_assert_int_gt(last.delayed_us, 99 * MICRO);
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.outcome, DECISION_DENIED);
    ck_assert_int_eq(last.delayed_us, 0);
}
END_TEST

START_TEST(several_limits_take_all_or_none) {
    policy.limit_count = 2;
    policy.limits[1] = policy.limits[0];
    snprintf(policy.limits[1].name, sizeof policy.limits[1].name, "daily");
    policy.limits[1].params[0] = 2 * MICRO;
    policy.limits[1].params[2] = 1000 * MICRO;
    decide(1, LIMITER_TAKE);
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.binding, 1); /* the least left */
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.outcome, DECISION_DENIED);
    ck_assert_int_eq(last.binding, 1);
    ck_assert_int_eq(last.limits[0].remaining, 1);
    ck_assert_int_eq(private_redis_do(&redis, "EXISTS", "rl:default:daily:{ip:1}", NULL), 1);
}
END_TEST

START_TEST(an_error_is_an_outage) {
    policy.on_redis_error = ON_REDIS_ERROR_CLOSED;
    private_redis_do(&redis, "REPLICAOF", "127.0.0.1", "1", NULL); /* -READONLY */
    decide(1, LIMITER_TAKE);
    check_unchecked(DECISION_UNAVAILABLE);
    private_redis_do(&redis, "REPLICAOF", "NO", "ONE", NULL);
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.source, SOURCE_REDIS);
    ck_assert_int_eq(last.limits[0].remaining, 2);
}
END_TEST

START_TEST(without_redis_the_policy_answers) {
    private_redis_kill(&redis);
    world_turn(world, 20);
    decide(1, LIMITER_TAKE);
    check_unchecked(DECISION_ALLOWED);
    decide(1, LIMITER_PEEK);
    check_unchecked(DECISION_ALLOWED);
    policy.on_redis_error = ON_REDIS_ERROR_CLOSED;
    decide(1, LIMITER_TAKE);
    check_unchecked(DECISION_UNAVAILABLE);
    private_redis_restart(&redis);
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.source, SOURCE_REDIS);
    ck_assert_int_eq(last.limits[0].remaining, 2);
}
END_TEST

/* By the same numbers, from memory, from where Redis left off, and of the policy's whole key. */
START_TEST(without_redis_memory_answers) {
    policy.on_redis_error = ON_REDIS_ERROR_LOCAL;
    decide(1, LIMITER_TAKE);
    private_redis_kill(&redis);
    world_turn(world, 20);
    decide(1, LIMITER_PEEK);
    ck_assert_int_eq(last.limits[0].remaining, 2);
    for (int64_t left = 1; left >= 0; left--) {
        decide(1, LIMITER_TAKE);
        ck_assert_int_eq(last.source, SOURCE_LOCAL);
        ck_assert_int_eq(last.outcome, DECISION_ALLOWED);
        ck_assert_int_eq(last.limits[0].remaining, left);
    }
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.outcome, DECISION_DENIED);
    ck_assert_int_gt(last.limits[0].retry_after_us, 99 * MICRO);
    ck_assert_uint_eq(local_limiter_keys(local), 1);
    policy.on_limit = ON_LIMIT_SHADOW;
    decide(1, LIMITER_TAKE);
    ck_assert(last.outcome == DECISION_ALLOWED && last.shadow_denied);
    private_redis_restart(&redis);
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
    decide(1, LIMITER_TAKE);
    ck_assert_int_eq(last.source, SOURCE_REDIS);
}
END_TEST

/* --- replies that are not the script's --- */

static struct stub_redis stub;

static void setup_stub(void) {
    static char digest[64];
    static const struct redis_script *script;
    make_policy();
    script = decide_script_of(&policy);
    stub_redis_start(&stub);
    world = world_new(NULL, "127.0.0.1", stub.port);
    world->settings.timeout_ms = SOON_MS;
    snprintf(digest, sizeof digest, "$40\r\n%s\r\n", script->sha1);
    stub.login = digest;
    open_link(&script, 1);
    ck_assert(world_until_state(world, REDIS_READY, SOON_MS));
}

static void teardown_stub(void) {
    world_free(world);
    limiter_free(limiter);
    local_limiter_free(local);
    stub_redis_stop(&stub);
}

static const struct {
    const char *reply;
    bool good;
} replies[] = {
    {"*4\r\n:1\r\n:0\r\n:2\r\n:100\r\n", true},
    {"*4\r\n:1\r\n:5\r\n:0\r\n:5\r\n", true},
    {"*3\r\n:1\r\n:0\r\n:2\r\n", false},
    {"*5\r\n:1\r\n:0\r\n:2\r\n:100\r\n:0\r\n", false},
    {"*4\r\n:1\r\n:0\r\n:4\r\n:100\r\n", false},
    {"*4\r\n:1\r\n:0\r\n:-1\r\n:100\r\n", false},
    {"*4\r\n:1\r\n:-5\r\n:2\r\n:100\r\n", false},
    {"*4\r\n:-1\r\n:0\r\n:2\r\n:100\r\n", false},
    {"*4\r\n:1\r\n:0\r\n:2\r\n$-1\r\n", false},
    {"*4\r\n:1\r\n:0\r\n$1\r\n2\r\n:100\r\n", false},
    {"*0\r\n", false},
    {"*-1\r\n", false},
    {"$-1\r\n", false},
    {":1\r\n", false},
    {"+OK\r\n", false},
    {"-OOM command not allowed\r\n", false},
    {"-MOVED 866 127.0.0.1:7001\r\n", false},
    {"-NOSCRIPT x\r\n", false},
    {"garbage\r\n", false},
};

START_TEST(only_the_script_s_reply_is_believed) {
    stub.reply = replies[_i].reply;
    decide(1, LIMITER_TAKE);
    if (replies[_i].good)
        ck_assert_int_eq(last.source, SOURCE_REDIS);
    else
        check_unchecked(DECISION_ALLOWED);
}
END_TEST

int main(void) {
    decide_scripts_init();
    Suite *suite = suite_create("limiter");
    TCase *real = tcase_create("real");
    tcase_add_checked_fixture(real, setup, teardown);
    tcase_set_timeout(real, 30);
    tcase_add_test(real, decides);
    tcase_add_test(real, peeks_and_looks);
    tcase_add_test(real, shadow_lets_through_and_tells);
    tcase_add_test(real, delay_holds_and_then_refuses);
    tcase_add_test(real, several_limits_take_all_or_none);
    tcase_add_test(real, an_error_is_an_outage);
    tcase_add_test(real, without_redis_the_policy_answers);
    tcase_add_test(real, without_redis_memory_answers);
    suite_add_tcase(suite, real);
    TCase *odd = tcase_create("stub");
    tcase_add_checked_fixture(odd, setup_stub, teardown_stub);
    tcase_set_timeout(odd, 30);
    tcase_add_loop_test(odd, only_the_script_s_reply_is_believed, 0, (int)(sizeof replies / sizeof *replies));
    suite_add_tcase(suite, odd);
    return unit_main(suite);
}
