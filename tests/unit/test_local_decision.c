/* Each algorithm by worked numbers: what a person would work out on paper, decided in memory with the time
 * passed in. That the script says the same: tests/property. */
#include "limit/local_decision.h"

#include "base/decimal.h"
#include "limit/fixed_window.h"
#include "limit/leaky_bucket.h"
#include "limit/sliding_window_counter.h"
#include "limit/sliding_window_log.h"
#include "limit/token_bucket.h"
#include "unit.h"

#define EPOCH (1700000000 * MICRO) /* a multiple of 1, 4, 10 and 20 s */
#define MS 1000LL

static const struct algorithm *const all[] = {&token_bucket, &fixed_window, &leaky_bucket,
                                              &sliding_window_counter, &sliding_window_log};

static struct limit_settings limit;
static struct algorithm_state state;
static struct decision last;
static int64_t max_delay_us;

static void teardown(void) {
    algorithm_state_free(&state);
    max_delay_us = 0;
}

static void set(const struct algorithm *algorithm, int64_t a, int64_t b, int64_t c) {
    size_t param;
    limit_settings_default(&limit, algorithm);
    limit.params[0] = a;
    limit.params[1] = b;
    limit.params[2] = c;
    ck_assert_int_eq(limit_settings_check(&limit, &param, NULL), 0);
    algorithm_state_free(&state);
}

static bool take(int64_t cost, int64_t now_us) {
    struct algorithm_state *const states[] = {&state};
    const struct local_request request = {
        .now_us = now_us, .cost = cost, .max_delay_us = max_delay_us, .take = true};
    local_decide(&limit, 1, states, &request, &last);
    return last.outcome == DECISION_ALLOWED;
}

static int take_many(int count, int64_t now_us) {
    int admitted = 0;
    for (int i = 0; i < count; i++)
        admitted += take(1, now_us);
    return admitted;
}

static int64_t retry(void) {
    return last.limits[0].retry_after_us;
}

/* `units` at once and as many a second or window, for whichever algorithm. */
static void set_even(const struct algorithm *algorithm, int64_t units, int64_t window_us) {
    if (algorithm == &token_bucket)
        set(algorithm, units * MICRO, units * MICRO, window_us);
    else if (algorithm == &leaky_bucket)
        set(algorithm, units * MICRO, units * MICRO * MICRO / window_us, 0);
    else
        set(algorithm, units * MICRO, window_us, algorithm == &sliding_window_counter ? MICRO : 0);
}

/* --- all --- */

/* case_hdr_09: 2, 1, 0, 0, 0 */
START_TEST(remaining_counts_down_to_zero) {
    static const int right[] = {2, 1, 0, 0, 0};
    set_even(all[_i], 3, 60 * MICRO);
    for (size_t i = 0; i < COUNT(right); i++) {
        ck_assert_int_eq(take(1, EPOCH + 5 * MICRO), i < 3);
        ck_assert_int_eq(last.limits[0].remaining, right[i]);
        ck_assert(i < 3 ? retry() == 0 : retry() > 0);
    }
}
END_TEST

/* case_alg_05: a clock that is behind gives nothing back */
START_TEST(a_clock_that_went_back_gives_nothing) {
    set_even(all[_i], 10, 10 * MICRO);
    ck_assert_int_eq(take_many(20, EPOCH + 5 * MICRO), 10);
    ck_assert_int_eq(take_many(20, EPOCH + 3 * MICRO), 0);
    ck_assert_int_gt(retry(), 2 * MICRO);
    ck_assert_int_eq(take_many(20, EPOCH + 5 * MICRO), 0);
}
END_TEST

/* case_alg_16, case_alg_26: a refused request costs nothing */
START_TEST(denials_do_not_prolong) {
    set_even(all[_i], 5, 5 * MICRO);
    ck_assert(take(5, EPOCH));
    for (int64_t at = 1; at <= 40; at++)
        ck_assert(!take(5, EPOCH + at * 100 * MS));
    ck_assert(!take(5, EPOCH + 4999 * MS));
    ck_assert(take(5, EPOCH + 10 * MICRO));
}
END_TEST

/* case_alg_28: under steady pressure neither more nor, as time goes by, less */
START_TEST(throughput_does_not_drift) {
    set_even(all[_i], 100, MICRO);
    for (int bin = 0; bin < 12; bin++) {
        int admitted = 0;
        for (int i = 0; i < 2000; i++)
            admitted += take(1, EPOCH + bin * 10 * MICRO + i * 5003 + i % 7 * 311);
        int64_t slack = bin == 0 ? 130 : 30; /* the first has the burst */
        ck_assert_msg(admitted >= 970 && admitted <= 1000 + slack, "bin %d: %d", bin, admitted);
    }
}
END_TEST

/* --- token bucket --- */

START_TEST(tokens_come_in_steps) { /* case_alg_01, case_alg_03 */
    set(&token_bucket, 5 * MICRO, 2 * MICRO, MICRO);
    ck_assert_int_eq(take_many(9, EPOCH), 5);
    ck_assert_int_eq(retry(), MICRO);
    ck_assert_int_eq(take_many(9, EPOCH + 999999), 0);
    ck_assert_int_eq(retry(), 1);
    ck_assert_int_eq(take_many(9, EPOCH + 2200 * MS), 4);
    ck_assert_int_eq(retry(), 800 * MS);
}
END_TEST

START_TEST(fractions_of_tokens_are_kept) { /* case_alg_07 */
    set(&token_bucket, 1 * MICRO, 200000, MICRO);
    int admitted = 0;
    for (int64_t at = 0; at <= 20000; at += 200)
        admitted += take(1, EPOCH + at * MS);
    ck_assert_int_eq(admitted, 5);
}
END_TEST

START_TEST(token_bucket_queues) {
    set(&token_bucket, 2 * MICRO, MICRO, MICRO);
    max_delay_us = 2500 * MS;
    static const int64_t due[] = {0, 0, 1000, 2000};
    for (size_t i = 0; i < COUNT(due); i++) {
        ck_assert(take(1, EPOCH));
        ck_assert_int_eq(last.delayed_us, due[i] * MS);
    }
    ck_assert(!take(1, EPOCH));
    ck_assert_int_eq(retry(), 500 * MS);
    ck_assert(take(1, EPOCH + 500 * MS));
    ck_assert_int_eq(last.delayed_us, 2500 * MS);
}
END_TEST

/* --- fixed window --- */

START_TEST(window_opens_with_the_first_request) { /* case_alg_21 */
    set(&fixed_window, 10 * MICRO, 10 * MICRO, 0);
    ck_assert_int_eq(take_many(12, EPOCH + 3 * MICRO), 10);
    ck_assert_int_eq(retry(), 10 * MICRO);
    ck_assert_int_eq(last.limits[0].reset_after_us, 10 * MICRO);
    ck_assert_int_eq(take_many(5, EPOCH + 13 * MICRO - 1), 0);
    ck_assert_int_eq(retry(), 1);
    ck_assert_int_eq(take_many(12, EPOCH + 13 * MICRO), 10);
}
END_TEST

START_TEST(nearly_two_limits_pass_across_an_edge) {
    set(&fixed_window, 10 * MICRO, 10 * MICRO, 0);
    ck_assert(take(1, EPOCH));
    ck_assert_int_eq(take_many(20, EPOCH + 10 * MICRO - 1), 9);
    ck_assert_int_eq(take_many(20, EPOCH + 10 * MICRO), 10); /* 2 * 10 - 1 within a microsecond */
    ck_assert_int_eq(take_many(20, EPOCH + 20 * MICRO - 1), 0);
}
END_TEST

/* --- leaky bucket --- */

START_TEST(leaks_evenly) { /* case_alg_23, case_alg_26 */
    set(&leaky_bucket, 5 * MICRO, MICRO, 0);
    ck_assert_int_eq(take_many(2000, EPOCH), 5);
    ck_assert_int_eq(retry(), MICRO);
    ck_assert_int_eq(take_many(9, EPOCH + 250 * MS), 0);
    ck_assert_int_eq(retry(), 750 * MS);
    ck_assert_int_eq(take_many(9, EPOCH + 1500 * MS), 1);
    ck_assert_int_eq(retry(), 500 * MS);
    ck_assert_int_eq(take_many(9, EPOCH + 7 * MICRO), 5);
}
END_TEST

START_TEST(a_third_a_second_leaks_too) {
    set(&leaky_bucket, 10 * MICRO, 333333, 0);
    ck_assert_int_eq(take_many(20, EPOCH), 10);
    int admitted = 0;
    for (int64_t second = 1; second <= 40; second++)
        admitted += take(1, EPOCH + second * MICRO);
    ck_assert_int_eq(admitted, 13);
    ck_assert_int_eq(take_many(1, EPOCH + 3 * 14 * MICRO), 0); /* 14 thirds, rounded down, are not 14 * 3 s */
    ck_assert_int_eq(retry(), 43); /* 14 / 0.333333 s is 42.000042 and a bit: rounded up */
}
END_TEST

START_TEST(leaky_bucket_queues) {
    set(&leaky_bucket, MICRO, 10 * MICRO, 0);
    max_delay_us = 500 * MS;
    for (int64_t i = 0; i <= 5; i++) {
        ck_assert(take(1, EPOCH));
        ck_assert_int_eq(last.delayed_us, i * 100 * MS);
    }
    ck_assert(!take(1, EPOCH));
    ck_assert_int_eq(retry(), 100 * MS);
}
END_TEST

START_TEST(a_level_is_cut_to_a_smaller_bucket) {
    set(&leaky_bucket, 1000 * MICRO, MICRO, 0);
    ck_assert(take(900, EPOCH));
    limit.params[LEAKY_BUCKET_CAPACITY] = 10 * MICRO;
    ck_assert(!take(1, EPOCH));
    ck_assert_int_eq(retry(), MICRO);
    limit.params[LEAKY_BUCKET_LEAK_RATE] = 300000; /* another drop: the level stays what it was */
    ck_assert(!take(3, EPOCH + 5 * MICRO));
    ck_assert_int_eq(last.limits[0].remaining, 1);
    ck_assert_int_eq(retry(), 5 * MICRO);
}
END_TEST

/* --- sliding window counter --- */

START_TEST(previous_window_is_weighted) { /* case_alg_18 */
    set(&sliding_window_counter, 20 * MICRO, 4 * MICRO, MICRO);
    ck_assert_int_eq(take_many(25, EPOCH + 3500 * MS), 20);
    ck_assert_int_eq(take_many(25, EPOCH + 4500 * MS), 2); /* 20 - 20 * (1 - 0.5 / 4) = 2.5 */
    ck_assert_int_eq(retry(), 100 * MS);                   /* 20 * 0.85 + 3 = 20 */
    ck_assert(!take(1, EPOCH + 4600 * MS - 1));
    ck_assert(take(1, EPOCH + 4600 * MS));
}
END_TEST

START_TEST(a_limit_of_one_keeps_its_fraction) { /* case_alg_20 */
    set(&sliding_window_counter, MICRO, 4 * MICRO, MICRO);
    ck_assert(take(1, EPOCH + 200 * MS));
    for (int64_t at = 4200; at < 8000; at += 100)
        ck_assert(!take(1, EPOCH + at * MS));
    ck_assert_int_eq(retry(), 100 * MS);
    ck_assert(take(1, EPOCH + 8 * MICRO));
}
END_TEST

START_TEST(more_sub_windows_are_more_exact) {
    set(&sliding_window_counter, 10 * MICRO, 10 * MICRO, 10 * MICRO);
    ck_assert_int_eq(take_many(12, EPOCH), 10);
    ck_assert_int_eq(take_many(12, EPOCH + 10 * MICRO), 0); /* whole until the sub-window begins to leave */
    ck_assert_int_eq(retry(), 100 * MS);                    /* then a tenth of it in a tenth of a second */
    ck_assert_int_eq(take_many(12, EPOCH + 10500 * MS), 5);
    ck_assert_int_eq(take_many(12, EPOCH + 11 * MICRO), 5);
}
END_TEST

/* --- sliding window log --- */

START_TEST(log_never_passes_its_limit) { /* case_alg_15, case_hdr_12 */
    set(&sliding_window_log, 50 * MICRO, 10 * MICRO, 0);
    ck_assert_int_eq(take_many(400, EPOCH), 50);
    ck_assert_int_eq(take_many(400, EPOCH + 10 * MICRO - 1), 0);
    ck_assert_int_eq(take_many(400, EPOCH + 10 * MICRO), 50);
    set(&sliding_window_log, 10 * MICRO, 30 * MICRO, 0);
    for (int64_t second = 0; second < 10; second++)
        ck_assert(take(1, EPOCH + second * MICRO));
    ck_assert(!take(1, EPOCH + 10 * MICRO));
    ck_assert_int_eq(retry(), 20 * MICRO);
    ck_assert(!take(4, EPOCH + 10 * MICRO));
    ck_assert_int_eq(retry(), 23 * MICRO); /* until the fourth has left */
}
END_TEST

START_TEST(log_keeps_no_more_than_it_needs) {
    set(&sliding_window_log, 1000 * MICRO, MICRO, 0);
    for (int64_t i = 0; i < 100000; i++)
        take(1, EPOCH + i * MS);
    ck_assert_int_eq(last.limits[0].remaining, 0);
    ck_assert_uint_lt(algorithm_state_bytes(&state), 64 * 1024);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("local_decision");
    int count = (int)COUNT(all);
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_loop_test(tests, remaining_counts_down_to_zero, 0, count);
    tcase_add_loop_test(tests, a_clock_that_went_back_gives_nothing, 0, count);
    tcase_add_loop_test(tests, denials_do_not_prolong, 0, count);
    tcase_add_loop_test(tests, throughput_does_not_drift, 0, count);
    tcase_add_test(tests, tokens_come_in_steps);
    tcase_add_test(tests, fractions_of_tokens_are_kept);
    tcase_add_test(tests, token_bucket_queues);
    tcase_add_test(tests, window_opens_with_the_first_request);
    tcase_add_test(tests, nearly_two_limits_pass_across_an_edge);
    tcase_add_test(tests, leaks_evenly);
    tcase_add_test(tests, a_third_a_second_leaks_too);
    tcase_add_test(tests, leaky_bucket_queues);
    tcase_add_test(tests, a_level_is_cut_to_a_smaller_bucket);
    tcase_add_test(tests, previous_window_is_weighted);
    tcase_add_test(tests, a_limit_of_one_keeps_its_fraction);
    tcase_add_test(tests, more_sub_windows_are_more_exact);
    tcase_add_test(tests, log_never_passes_its_limit);
    tcase_add_test(tests, log_keeps_no_more_than_it_needs);
    Suite *suite = suite_create("local_decision");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
