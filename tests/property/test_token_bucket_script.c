/* The token bucket's script in a real Redis, with the time passed in: every promise of docs/algorithms.md, on
 * chosen and on random histories. What is written and mended: test_script_state.c. */
#include <hiredis/hiredis.h>

#include "unit/bucket_script.h"
#include "unit/chance.h"
#include "unit/unit.h"

static const struct bucket guide[] = {
    {10 * MICRO, MICRO, MICRO}, {100 * MICRO, 10 * MICRO, MICRO}, {60 * MICRO, MICRO, 60 * MICRO}};

/* --- chosen histories --- */

START_TEST(settings_of_the_guide) {
    const struct bucket *set = &guide[_i];
    int64_t units = set->capacity / MICRO, per_interval = set->rate / MICRO;
    for (int64_t i = 0; i < units; i++) {
        struct said said = take(set, 1, START);
        ck_assert_int_eq(said.admitted, 1);
        ck_assert_int_eq(said.remaining, units - 1 - i);
        ck_assert_int_eq(said.retry_after, 0);
    }
    struct said denied = take(set, 1, START);
    ck_assert_int_eq(denied.admitted, 0);
    ck_assert_int_eq(denied.retry_after, set->interval);
    check_promises(set, 1, &denied);
    for (int64_t i = 0; i < per_interval; i++)
        ck_assert_int_eq(take(set, 1, START + set->interval).admitted, 1);
    ck_assert_int_eq(take(set, 1, START + set->interval).admitted, 0);
    ck_assert_int_eq(take(set, 1, START + 2 * set->interval - 1).admitted, 0);
    ck_assert_int_eq(peek(set, 1, START + 1000 * set->interval).remaining, units);
}
END_TEST

START_TEST(a_full_bucket_s_clock_stands_still) {
    const struct bucket *set = &guide[0];
    take(set, 1, START);
    ck_assert_int_eq(take(set, 10, START + 5500000).admitted, 1); /* full since START + 1 s */
    check_field("last_refill", "1700000005500000");
    ck_assert_int_eq(take(set, 1, START + 6499999).admitted, 0);
    ck_assert_int_eq(take(set, 1, START + 6500000).admitted, 1);
}
END_TEST

START_TEST(polling_loses_no_fraction) {
    const struct bucket set = {MICRO, 300000, MICRO}; /* 0.3 a second: one each 4 s after the first 4 */
    take(&set, 1, START);
    for (int64_t at = 1000; at < 4000000; at += 1000 * 37)
        ck_assert_int_eq(take(&set, 1, START + at).admitted, 0);
    ck_assert_int_eq(take(&set, 1, START + 3999999).admitted, 0);
    ck_assert_int_eq(take(&set, 1, START + 4000000).admitted, 1);
}
END_TEST

START_TEST(state_is_for_people) {
    const struct bucket set = {10 * MICRO, 1500000, MICRO};
    take(&set, 4, START);
    check_field("tokens", "6");
    check_field("last_refill", "1700000000000000");
    take(&set, 1, START + MICRO);
    check_field("tokens", "6.5");
    check_field("last_refill", "1700000001000000");
    const struct bucket fine = {10 * MICRO, 1, 1000};
    flush();
    take(&fine, 10, START);
    take(&fine, 1, START + 1000000000);
    check_field("tokens", "0");
    ck_assert_int_eq(peek(&fine, 1, START + 1000010000).remaining, 0);
}
END_TEST

START_TEST(a_clock_that_steps_back_refills_nothing_twice) {
    const struct bucket *set = &guide[0];
    take(set, 10, START);
    ck_assert_int_eq(take(set, 1, START + MICRO).admitted, 1);
    struct said back = take(set, 1, START);
    ck_assert_int_eq(back.admitted, 0);
    ck_assert_int_eq(back.retry_after, 2 * MICRO); /* from the real now */
    check_promises(set, 1, &back);
    ck_assert_int_eq(take(set, 1, START + MICRO).admitted, 0);
    ck_assert_int_eq(take(set, 1, START + 2 * MICRO).admitted, 1);
    /* Ten seconds fill it. Further ahead than that cannot be true. */
    ck_assert_int_eq(peek(set, 1, START + 2 * MICRO - 10 * MICRO).remaining, 0);
    ck_assert_int_eq(peek(set, 1, START + 2 * MICRO - 10 * MICRO - 1).remaining, 10);
}
END_TEST

START_TEST(a_live_change_keeps_the_state) {
    const struct bucket small = {5 * MICRO, MICRO, MICRO}, large = {20 * MICRO, 2 * MICRO, MICRO};
    take(&guide[0], 3, START);
    ck_assert_int_eq(peek(&large, 1, START).remaining, 7);
    ck_assert_int_eq(peek(&large, 1, START + MICRO).remaining, 9); /* the new rate for all of the time */
    ck_assert_int_eq(peek(&small, 1, START).remaining, 5);
    take(&small, 5, START);
    ck_assert_int_eq(peek(&large, 1, START).remaining, 0);
    struct said said = peek(&large, 4, START);
    check_promises(&large, 4, &said);
}
END_TEST

START_TEST(cuts_first_and_ages_then) {
    const struct bucket small = {5 * MICRO, MICRO, MICRO};
    take(&guide[1], 1, START); /* 99 left */
    struct said said = take(&small, 5, START + MICRO / 2);
    ck_assert_int_eq(said.remaining, 0);
    check_field("last_refill", "1700000000500000"); /* it was full after the cut */
}
END_TEST

START_TEST(delays_in_order_of_arrival) {
    const struct bucket *set = &guide[0];
    take(set, 10, START);
    for (int64_t i = 1; i <= 3; i++) {
        struct said held = decide(set, "k", "take", 1, 3 * MICRO, START);
        ck_assert_int_eq(held.admitted, 1);
        ck_assert_int_eq(held.due, i * MICRO);
        ck_assert_int_eq(held.remaining, 0);
    }
    struct said denied = decide(set, "k", "take", 1, 3 * MICRO, START);
    ck_assert_int_eq(denied.admitted, 0);
    ck_assert_int_eq(denied.retry_after, MICRO);
    check_field("tokens", "-3");
    ck_assert_int_eq(decide(set, "k", "look", 1, 3 * MICRO, START + MICRO - 1).admitted, 0);
    ck_assert_int_eq(decide(set, "k", "look", 1, 3 * MICRO, START + MICRO).admitted, 1);
}
END_TEST

START_TEST(a_shorter_delay_cuts_what_was_taken_in_advance) {
    const struct bucket *fast = &guide[1], *slow = &guide[2];
    decide(fast, "k", "take", 100, 3 * MICRO, START);
    ck_assert_int_eq(decide(fast, "k", "take", 30, 3 * MICRO, START).due, 3 * MICRO); /* 30 in advance */
    ck_assert_int_eq(decide(fast, "k", "look", 1, 1500000, START).due, 3 * MICRO); /* 20 can come in 1.5 s */
    ck_assert_int_eq(decide(fast, "k", "look", 1, 1000000, START).due, 2 * MICRO);
    ck_assert_int_eq(decide(slow, "k", "look", 1, 1000000, START).due, 120 * MICRO); /* one in advance */
    ck_assert_int_eq(peek(slow, 1, START).due, 60 * MICRO);                          /* none */
    ck_assert_int_eq(take(slow, 1, START + 60 * MICRO - 1).admitted, 0);
    ck_assert_int_eq(take(slow, 1, START + 60 * MICRO).admitted, 1);
    check_field("tokens", "0");
}
END_TEST

/* --- random histories --- */

/* Magnitudes evenly, both ends included. */
static int64_t random_size(int64_t low, int64_t high) {
    int64_t top = high;
    for (int64_t halvings = between(0, 62); halvings > 0 && top / 2 > low; halvings--)
        top /= 2;
    return one_in(10) ? top : between(low, top);
}

static struct bucket random_bucket(void) {
    struct bucket set;
    do {
        set.capacity = random_size(1, 1000000000) * MICRO;
        set.rate = random_size(1, 1000000000 * MICRO);
        set.interval = random_size(1000, 31536000 * MICRO);
    } while ((set.capacity + set.rate - 1) / set.rate > 320000000000000LL / set.interval);
    return set;
}

/* In any interval of T no more than C + r * ceil(T / i) pass. Every pair of admissions is an interval. */
static void check_bound(const struct bucket *set, const int64_t *times, const int64_t *costs, int count) {
    for (int from = 0; from < count; from++) {
        __int128 sum = 0;
        for (int to = from; to < count; to++) {
            sum += (__int128)costs[to] * MICRO;
            int64_t span = times[to] - times[from];
            __int128 bound =
                set->capacity + (__int128)set->rate * ((span + set->interval - 1) / set->interval);
            ck_assert_msg(sum <= bound, "%d admissions from %d pass the bound", to - from + 1, from);
        }
    }
}

/* A key's TTL runs in real time, the history does not: the key is kept before anything else can happen. */
static struct said take_and_keep(const struct bucket *set, int64_t cost, int64_t now) {
    redisAppendCommand(script_context, "MULTI");
    redisAppendCommand(script_context, "EVALSHA %s 1 k %lld %lld %lld %lld take 0 %lld", script_digest,
                       (long long)(cost * MICRO), (long long)set->capacity, (long long)set->rate,
                       (long long)set->interval, (long long)now);
    redisAppendCommand(script_context, "PERSIST k");
    redisAppendCommand(script_context, "EXEC");
    void *reply = NULL;
    for (int i = 0; i < 4; i++) {
        freeReplyObject(reply);
        ck_assert_int_eq(redisGetReply(script_context, &reply), REDIS_OK);
    }
    redisReply *exec = reply;
    ck_assert_int_eq(exec->elements, 2);
    redisReply *first = exec->element[0];
    exec->element[0] = NULL;
    freeReplyObject(exec);
    return read_said(first, 0, 0);
}

START_TEST(random_histories) {
    enum { STEPS = 60 };
    chance_from(88172645463325252ULL + (uint64_t)_i * 7919);
    for (int round = 0; round < 10; round++) {
        struct bucket set = random_bucket();
        int64_t times[STEPS], costs[STEPS], now = START, units = set.capacity / MICRO;
        int admitted = 0;
        flush();
        for (int step = 0; step < STEPS; step++) {
            int64_t cost = random_size(1, units);
            struct said said = take_and_keep(&set, cost, now);
            ck_assert_int_eq(said.now, now);
            ck_assert_int_eq(said.due == 0, said.admitted);
            check_promises(&set, cost, &said);
            if (said.admitted) {
                times[admitted] = now;
                costs[admitted++] = cost;
            }
            int64_t filling = (set.capacity + set.rate - 1) / set.rate * set.interval;
            now += said.admitted || one_in(2) ? random_size(0, filling / 4) : said.retry_after;
        }
        ck_assert_int_gt(admitted, 0);
        check_bound(&set, times, costs, admitted);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("token_bucket_script");
    TCase *tcase = tcase_create("histories");
    tcase_add_checked_fixture(tcase, script_setup, script_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, settings_of_the_guide, 0, COUNT(guide));
    tcase_add_test(tcase, a_full_bucket_s_clock_stands_still);
    tcase_add_test(tcase, polling_loses_no_fraction);
    tcase_add_test(tcase, state_is_for_people);
    tcase_add_test(tcase, a_clock_that_steps_back_refills_nothing_twice);
    tcase_add_test(tcase, a_live_change_keeps_the_state);
    tcase_add_test(tcase, cuts_first_and_ages_then);
    tcase_add_test(tcase, delays_in_order_of_arrival);
    tcase_add_test(tcase, a_shorter_delay_cuts_what_was_taken_in_advance);
    tcase_add_loop_test(tcase, random_histories, 0, 8);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
