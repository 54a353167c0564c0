/* The table of limits in memory: bounds, order of use, all or none, parts of a limit, its clock, threads. */
#include "limit/local_limiter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/siphash.h"
#include "limit/fixed_window.h"
#include "limit/leaky_bucket.h"
#include "limit/sliding_window_log.h"
#include "limit/token_bucket.h"
#include "unit.h"

#define NOW 1700000000000000LL
#define MONO 5000000LL

static struct local_limiter *local;
static struct policy policy;
static struct decision last;

static void add_limit(const struct algorithm *algorithm, const char *name, int64_t a, int64_t b, int64_t c) {
    struct limit_settings *limit = &policy.limits[policy.limit_count++];
    limit_settings_default(limit, algorithm);
    if (name) snprintf(limit->name, sizeof limit->name, "%s", name);
    limit->params[0] = a;
    limit->params[1] = b;
    limit->params[2] = c;
}

static void setup(void) {
    policy = (struct policy){.name = "default", .cost = 1};
    local = local_limiter_new(LOCAL_KEYS_MAX, LOCAL_BYTES_MAX);
}

static void teardown(void) {
    local_limiter_free(local);
}

static bool ask(const char *key, int64_t cost, int64_t now_us, bool take) {
    const struct local_request request = {.now_us = now_us, .cost = cost, .take = take};
    local_limiter_decide(local, &policy, key, strlen(key), &request, &last);
    ck_assert_int_eq(last.source, SOURCE_LOCAL);
    return last.outcome == DECISION_ALLOWED;
}

static bool take(const char *key, int64_t cost, int64_t now_us) {
    return ask(key, cost, now_us, true);
}

START_TEST(one_client_is_held_to_its_limit) {
    add_limit(&token_bucket, NULL, 3 * MICRO, MICRO, MICRO);
    for (int64_t left = 2; left >= 0; left--) {
        ck_assert(take("{a}", 1, NOW));
        ck_assert_int_eq(last.limits[0].remaining, left);
    }
    ck_assert(!take("{a}", 1, NOW + 300000));
    ck_assert_int_eq(last.limits[0].retry_after_us, 700000);
    ck_assert(take("{b}", 3, NOW));
    ck_assert(take("{a}", 1, NOW + MICRO));
    ck_assert_uint_eq(local_limiter_keys(local), 2);
}
END_TEST

START_TEST(what_takes_nothing_leaves_nothing) {
    add_limit(&token_bucket, NULL, 3 * MICRO, MICRO, MICRO);
    ck_assert(ask("{a}", 3, NOW, false));
    ck_assert(ask("{a}", 3, NOW, false));
    ck_assert_uint_eq(local_limiter_keys(local), 0);
    ck_assert(take("{a}", 3, NOW));
    ck_assert(!ask("{a}", 1, NOW, false));
    ck_assert_uint_eq(local_limiter_keys(local), 1);
}
END_TEST

/* Redis said at NOW that `remaining` units are left and one more comes after `reset_us`; the outage begins
 * then. */
static void saw(const char *key, int64_t remaining, int64_t reset_us) {
    struct decision decision = {.count = policy.limit_count};
    for (size_t i = 0; i < policy.limit_count; i++)
        decision.limits[i] = (struct limit_state){.remaining = remaining, .reset_after_us = reset_us};
    ck_assert_int_eq(local_limiter_now(local, NOW, MONO), NOW);
    local_limiter_saw(local, &policy, key, strlen(key), &decision, MONO);
}

START_TEST(an_outage_begins_from_what_redis_last_said) {
    add_limit(&token_bucket, NULL, 10 * MICRO, MICRO, MICRO);
    saw("{a}", 2, 400000);
    ck_assert(!ask("{a}", 3, NOW, false));
    ck_assert_int_eq(last.limits[0].remaining, 2);
    ck_assert_int_eq(last.limits[0].reset_after_us, 400000); /* the refill clock too, to the microsecond */
    ck_assert(take("{a}", 2, NOW));
    ck_assert(!take("{a}", 1, NOW + 399999));
    ck_assert(take("{a}", 1, NOW + 400000));
    ck_assert(take("{b}", 10, NOW)); /* of another client nothing was seen */
}
END_TEST

START_TEST(a_window_seen_in_redis_ends_when_it_ends) {
    add_limit(&fixed_window, NULL, 10 * MICRO, 60 * MICRO, 0);
    saw("{a}", 0, 15 * MICRO);
    ck_assert(!take("{a}", 1, NOW + 15 * MICRO - 1));
    ck_assert(take("{a}", 10, NOW + 15 * MICRO));
}
END_TEST

START_TEST(a_log_seen_in_redis_is_taken_for_as_young_as_it_may_be) {
    add_limit(&sliding_window_log, NULL, 10 * MICRO, 60 * MICRO, 0);
    saw("{a}", 4, 15 * MICRO);
    ck_assert(take("{a}", 4, NOW));
    ck_assert(!take("{a}", 1, NOW + 59 * MICRO));
    ck_assert(take("{a}", 10, NOW + 60 * MICRO));
}
END_TEST

START_TEST(each_instance_counts_its_part_of_what_was_used) {
    add_limit(&token_bucket, NULL, 10 * MICRO, MICRO, MICRO);
    local_limiter_share(local, 3);
    saw("{a}", 3, 400000); /* 7 of 10 used: 3 of this instance's 3 */
    ck_assert(!take("{a}", 1, NOW));
    saw("{b}", 7, 400000); /* 3 of 10 used: 1 of 3 */
    ck_assert(take("{b}", 2, NOW));
    ck_assert(!take("{b}", 1, NOW));
}
END_TEST

START_TEST(what_redis_said_later_counts_more) {
    add_limit(&token_bucket, NULL, 10 * MICRO, MICRO, 3600 * MICRO);
    ck_assert_int_eq(local_limiter_now(local, NOW, MONO), NOW);
    ck_assert(take("{a}", 9, NOW - MICRO)); /* an outage before */
    saw("{a}", 6, MICRO);
    ck_assert(take("{a}", 6, NOW));
    ck_assert(!take("{a}", 1, NOW)); /* and is not taken up twice */
}
END_TEST

START_TEST(all_limits_or_none) {
    add_limit(&token_bucket, "burst", 5 * MICRO, MICRO, MICRO);
    add_limit(&fixed_window, "hourly", 7 * MICRO, 3600 * MICRO, 0);
    add_limit(&leaky_bucket, "smooth", 100 * MICRO, MICRO, 0);
    ck_assert(take("{a}", 5, NOW));
    ck_assert_int_eq(last.binding, 0);
    ck_assert(!take("{a}", 3, NOW + 5 * MICRO));
    ck_assert_int_eq(last.binding, 1);
    ck_assert_int_eq(last.limits[0].remaining, 5);
    ck_assert_int_eq(last.limits[1].remaining, 2);
    ck_assert_int_eq(last.limits[1].retry_after_us, 3595 * MICRO);
    ck_assert_int_eq(last.limits[0].retry_after_us, 0);
    ck_assert_int_eq(last.limits[2].remaining, 100);
    ck_assert(take("{a}", 2, NOW + 5 * MICRO));
    ck_assert_int_eq(last.limits[1].remaining, 0);
    ck_assert_uint_eq(local_limiter_keys(local), 3);
}
END_TEST

START_TEST(never_more_keys_than_allowed) {
    local_limiter_free(local);
    local = local_limiter_new(100, LOCAL_BYTES_MAX);
    add_limit(&token_bucket, NULL, 1 * MICRO, MICRO, 3600 * MICRO);
    char key[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "{%d}", i);
        ck_assert(take(key, 1, NOW + i));
        ck_assert(!take("{busy}", 1, NOW + i) || i == 0);
        ck_assert_uint_le(local_limiter_keys(local), 100);
    }
    ck_assert(!take("{999}", 1, NOW + 1000)); /* used just now: known */
    ck_assert(take("{5}", 1, NOW + 1000));    /* long ago: forgotten */
}
END_TEST

START_TEST(never_more_bytes_than_allowed) {
    enum { BYTES = 1024 * 1024 };
    local_limiter_free(local);
    local = local_limiter_new(LOCAL_KEYS_MAX, BYTES);
    add_limit(&sliding_window_log, NULL, 20000 * MICRO, 3600 * MICRO, 0);
    char key[16];
    size_t most = 0;
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "{%d}", i);
        for (int n = 0; n < 10000; n++)
            ck_assert(take(key, 1, NOW + i));
        ck_assert_int_eq(last.limits[0].remaining, 10000);
        ck_assert_uint_le(local_limiter_bytes(local), BYTES);
        most = local_limiter_bytes(local) > most ? local_limiter_bytes(local) : most;
    }
    ck_assert_uint_gt(most, BYTES / 2);
    ck_assert_uint_lt(local_limiter_keys(local), 10);
    ck_assert_uint_ge(local_limiter_keys(local), 2);
}
END_TEST

START_TEST(what_has_run_out_is_as_new) {
    add_limit(&token_bucket, "x", 2 * MICRO, MICRO, MICRO);
    ck_assert(take("{a}", 2, NOW));
    ck_assert(!take("{a}", 2, NOW + 2 * MICRO - 1));
    ck_assert(take("{a}", 2, NOW + 2 * MICRO));
    policy.limit_count = 0; /* another algorithm under the same name: nothing of the old one is read */
    add_limit(&fixed_window, "x", 5 * MICRO, 10 * MICRO, 0);
    ck_assert(take("{a}", 5, NOW + 2 * MICRO));
    ck_assert(!take("{a}", 1, NOW + 2 * MICRO));
    ck_assert_uint_eq(local_limiter_keys(local), 1);
}
END_TEST

START_TEST(names_keep_clients_and_limits_apart) {
    add_limit(&token_bucket, "one", 1 * MICRO, MICRO, 100 * MICRO);
    ck_assert(take("{a}", 1, NOW));
    snprintf(policy.limits[0].name, sizeof policy.limits[0].name, "two");
    ck_assert(take("{a}", 1, NOW));
    snprintf(policy.name, sizeof policy.name, "other");
    ck_assert(take("{a}", 1, NOW));
    ck_assert(!take("{a}", 1, NOW));
}
END_TEST

START_TEST(a_part_of_the_limit) {
    add_limit(&token_bucket, NULL, 10 * MICRO, 3 * MICRO, MICRO);
    local_limiter_share(local, 3);
    ck_assert(!take("{a}", 4, NOW)); /* more than a third ever holds */
    ck_assert_int_gt(last.limits[0].retry_after_us, 0);
    ck_assert(take("{a}", 3, NOW));
    ck_assert(!take("{a}", 1, NOW));
    ck_assert_int_eq(last.limits[0].retry_after_us, MICRO);
    ck_assert_int_eq(last.limits[0].remaining, 0);
    local_limiter_share(local, 1000); /* at least one */
    ck_assert(take("{b}", 1, NOW));
    ck_assert(!take("{b}", 1, NOW));
    ck_assert_int_gt(last.limits[0].retry_after_us, 300 * MICRO);
    local_limiter_share(local, 0);
    ck_assert(take("{c}", 10, NOW));
}
END_TEST

START_TEST(the_clock_of_an_outage_does_not_step) {
    ck_assert_int_eq(local_limiter_now(local, NOW, 500), NOW);
    ck_assert_int_eq(local_limiter_now(local, NOW - 3600 * MICRO, 700), NOW + 200);
    ck_assert_int_eq(local_limiter_now(local, NOW + 3600 * MICRO, 900), NOW + 400);
    local_limiter_rest(local);
    ck_assert_int_eq(local_limiter_now(local, NOW + 3600 * MICRO, 1000), NOW + 3600 * MICRO);
}
END_TEST

/* From the reference implementation, by way of Rust's tests of it. */
START_TEST(hash_is_siphash) {
    const struct siphash_key key = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    ck_assert_uint_eq(siphash(&key, "", 0), 0xabac0158050fc4dcu);
    ck_assert_uint_ne(siphash(&key, "12345678", 8), siphash(&key, "12345679", 8));
    ck_assert_uint_ne(siphash(&key, "1234567", 7), siphash(&key, "1234567\0", 8));
}
END_TEST

/* --- several threads --- */

enum { THREADS = 4, ROUNDS = 3000 };

static atomic_int admitted;

static void *hammer(void *arg) {
    char own[16];
    snprintf(own, sizeof own, "{%d}", *(int *)arg);
    for (int i = 0; i < ROUNDS; i++) {
        const struct local_request request = {
            .now_us = local_limiter_now(local, NOW, i), .cost = 1, .take = true};
        struct decision decision;
        local_limiter_decide(local, &policy, "{all}", 5, &request, &decision);
        if (decision.outcome == DECISION_ALLOWED) atomic_fetch_add(&admitted, 1);
        local_limiter_decide(local, &policy, own, strlen(own), &request, &decision);
        ck_assert_uint_le(local_limiter_keys(local), 20);
        if (i % 100 == 0) local_limiter_rest(local);
    }
    return NULL;
}

START_TEST(threads_share_one_limit) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    local_limiter_free(local);
    local = local_limiter_new(20, LOCAL_BYTES_MAX);
    add_limit(&fixed_window, "a", 5000 * MICRO, 3600 * MICRO, 0);
    add_limit(&sliding_window_log, "b", 100000 * MICRO, 3600 * MICRO, 0);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(atomic_load(&admitted), 5000);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("local_limiter");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, one_client_is_held_to_its_limit);
    tcase_add_test(tests, what_takes_nothing_leaves_nothing);
    tcase_add_test(tests, an_outage_begins_from_what_redis_last_said);
    tcase_add_test(tests, a_window_seen_in_redis_ends_when_it_ends);
    tcase_add_test(tests, a_log_seen_in_redis_is_taken_for_as_young_as_it_may_be);
    tcase_add_test(tests, each_instance_counts_its_part_of_what_was_used);
    tcase_add_test(tests, what_redis_said_later_counts_more);
    tcase_add_test(tests, all_limits_or_none);
    tcase_add_test(tests, never_more_keys_than_allowed);
    tcase_add_test(tests, never_more_bytes_than_allowed);
    tcase_add_test(tests, what_has_run_out_is_as_new);
    tcase_add_test(tests, names_keep_clients_and_limits_apart);
    tcase_add_test(tests, a_part_of_the_limit);
    tcase_add_test(tests, the_clock_of_an_outage_does_not_step);
    tcase_add_test(tests, hash_is_siphash);
    tcase_add_test(tests, threads_share_one_limit);
    Suite *suite = suite_create("local_limiter");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
