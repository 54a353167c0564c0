/* Runs before they are fired: who sends when, what the arithmetic says of it, how it is added up. */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/fixed_window.h"
#include "limit/leaky_bucket.h"
#include "limit/run_compare.h"
#include "limit/run_plan.h"
#include "limit/run_prediction.h"
#include "limit/run_tally.h"
#include "limit/sliding_window_counter.h"
#include "limit/sliding_window_log.h"
#include "limit/token_bucket.h"

static const int64_t NOW_US = 1700000000 * MICRO;

static struct policy policy_of(const struct algorithm *algorithm) {
    struct policy policy = {.name = "p", .cost = 1, .cost_max = 1, .limit_count = 1};

    limit_settings_default(&policy.limits[0], algorithm);
    return policy;
}

static struct run_plan plan_of(enum run_scenario scenario, int64_t count, int64_t rate, int64_t clients,
                               const struct policy *policy) {
    const struct run_order order = {scenario, count, rate * MICRO, clients};
    struct run_plan plan;
    const char *member = NULL;
    struct err err = ERR_INIT;

    ck_assert_msg(run_plan_make(&plan, &order, policy, &member, &err) == 0, "%s", err.text);
    return plan;
}

static struct run_prediction predict(const struct run_plan *plan, const struct policy *policy,
                                     int64_t now_us) {
    static const unsigned char each_its_own[RUN_CLIENTS_MAX] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49};
    static const struct algorithm_state fresh[50 * LIMITS_MAX];
    const struct run_states states = {50, each_its_own, fresh};
    struct run_prediction prediction;

    run_predict(plan, policy, &states, now_us, &prediction);
    return prediction;
}

/* --- plans --- */

START_TEST(names_are_found_again) {
    for (int i = 0; i < RUN_SCENARIOS; i++)
        ck_assert_int_eq(run_scenario_find(run_scenario_name((enum run_scenario)i)), i);
    ck_assert_int_eq(run_scenario_find("bursts"), -1);
}
END_TEST

START_TEST(a_rate_spreads_evenly_and_zero_sends_at_once) {
    struct policy policy = policy_of(&token_bucket);
    struct run_plan plan = plan_of(RUN_STEADY, 100, 40, 3, &policy);

    ck_assert_int_eq(plan.at_us[0], 0);
    ck_assert_int_eq(plan.at_us[1], 25000);
    ck_assert_int_eq(run_plan_length(&plan), 99 * 25000);
    ck_assert_int_eq(plan.client[0], 0);
    ck_assert_int_eq(plan.client[4], 1);
    run_plan_free(&plan);
    plan = plan_of(RUN_BURST, 10000, 0, 1, &policy);
    ck_assert_int_eq(run_plan_length(&plan), 0);
    run_plan_free(&plan);
}
END_TEST

START_TEST(one_of_many_sends_eight_times_as_much) {
    struct policy policy = policy_of(&token_bucket);
    struct run_plan plan = plan_of(RUN_MANY_CLIENTS, 57 * 10, 0, 50, &policy);
    int sent[50] = {0};

    for (size_t i = 0; i < plan.count; i++)
        sent[plan.client[i]]++;
    ck_assert_int_eq(sent[0], 80);
    for (int i = 1; i < 50; i++)
        ck_assert_int_eq(sent[i], 10);
    run_plan_free(&plan);
    plan = plan_of(RUN_MANY_CLIENTS, 8, 0, 1, &policy); /* alone */
    for (size_t i = 0; i < plan.count; i++)
        ck_assert_int_eq(plan.client[i], 0);
    run_plan_free(&plan);
}
END_TEST

static const struct {
    struct run_order order;
    const char *member, *words;
} refused[] = {
    {{RUN_BURST, 0, 0, 1}, "count", "1 to 10000; got 0"},
    {{RUN_BURST, 10001, 0, 1}, "count", "got 10001"},
    {{RUN_COMPARE, 2001, 0, 1}, "count", "1 to 2000"},
    {{RUN_STEADY, 10, -1, 1}, "rate", "from 0"},
    {{RUN_STEADY, 10, 1000 * MICRO + 1, 1}, "rate", "to 1000"},
    {{RUN_STEADY, 62, MICRO, 1}, "rate", "more than 60 s"},
    {{RUN_STEADY, 10000, 1, 1}, "rate", "more than 60 s"},
    {{RUN_BURST, 10, 0, 0}, "clients", "1 to 100; got 0"},
    {{RUN_BURST, 10, 0, 101}, "clients", "got 101"},
};

START_TEST(what_is_too_much_is_refused_by_name) {
    struct policy policy = policy_of(&token_bucket);
    struct run_plan plan;
    const char *member = NULL;
    struct err err = ERR_INIT;

    ck_assert_int_eq(run_plan_make(&plan, &refused[_i].order, &policy, &member, &err), -1);
    ck_assert_str_eq(member, refused[_i].member);
    CHECK_CONTAINS(err.text, refused[_i].words);
    run_plan_free(&plan);
}
END_TEST

START_TEST(the_limits_of_a_run_are_allowed) {
    struct policy policy = policy_of(&token_bucket);
    struct run_plan plan = plan_of(RUN_STEADY, 61, 1, 100, &policy);

    ck_assert_int_eq(run_plan_length(&plan), 60 * MICRO);
    run_plan_free(&plan);
}
END_TEST

START_TEST(an_edge_run_aims_at_both_sides) {
    struct policy policy = policy_of(&fixed_window);
    struct run_plan plan = plan_of(RUN_WINDOW_EDGE, 999, 5, 7, &policy); /* its own numbers */

    ck_assert_uint_eq(plan.count, 20);
    ck_assert_int_eq(run_plan_edge(&policy, NULL, NOW_US), 10 * MICRO);
    run_plan_aim(&plan, 10 * MICRO);
    ck_assert_int_eq(plan.at_us[0], 0);
    for (int i = 1; i < 10; i++)
        ck_assert(plan.at_us[i] < 10 * MICRO && plan.at_us[i] > 9900000);
    for (int i = 10; i < 20; i++)
        ck_assert(plan.at_us[i] > 10 * MICRO && plan.at_us[i] < 10100000);
    run_plan_free(&plan);
}
END_TEST

START_TEST(an_edge_lies_where_the_algorithm_has_it) {
    struct policy fixed = policy_of(&fixed_window), counter = policy_of(&sliding_window_counter);
    const struct limit_state open = {.remaining = 3, .reset_after_us = 4 * MICRO},
                             nearly_over = {.remaining = 3, .reset_after_us = 1000};

    ck_assert_int_eq(run_plan_edge(&fixed, &open, NOW_US), 4 * MICRO);
    ck_assert_int_eq(run_plan_edge(&fixed, &nearly_over, NOW_US), 10 * MICRO);
    ck_assert_int_eq(run_plan_edge(&counter, NULL, NOW_US + 3 * MICRO), 7 * MICRO);
    ck_assert_int_eq(run_plan_edge(&counter, NULL, NOW_US - 1000), 10 * MICRO + 1000); /* too near */
    counter.limits[0].params[SLIDING_COUNTER_SUB_WINDOWS] = 10 * MICRO;
    ck_assert_int_eq(run_plan_edge(&counter, NULL, NOW_US + 300000), 700000);
}
END_TEST

START_TEST(an_edge_that_is_too_far_or_too_wide_is_refused) {
    struct policy policy = policy_of(&fixed_window);
    const struct run_order order = {RUN_WINDOW_EDGE, 1, 0, 1};
    struct run_plan plan;
    const char *member = NULL;
    struct err err = ERR_INIT;

    policy.limits[0].params[FIXED_WINDOW_WINDOW] = 60 * MICRO;
    ck_assert_int_eq(run_plan_make(&plan, &order, &policy, &member, &err), -1);
    CHECK_CONTAINS(err.text, "60 s");
    policy = policy_of(&fixed_window);
    policy.limits[0].params[FIXED_WINDOW_LIMIT] = 5001 * MICRO;
    ck_assert_int_eq(run_plan_make(&plan, &order, &policy, &member, &err), -1);
    CHECK_CONTAINS(err.text, "5001");
    ck_assert_str_eq(member, "policy");
}
END_TEST

/* --- predictions --- */

static const struct {
    const struct algorithm *algorithm;
    enum run_scenario scenario;
    int64_t count, rate, clients;
    size_t allowed, spread, most_in_window;
} foretold[] = {
    {&token_bucket, RUN_BURST, 1000, 0, 1, 10, 1, 10},
    {&token_bucket, RUN_STEADY, 151, 10, 1, 25, 1, 19}, /* 10, and one a second for 15 s */
    {&leaky_bucket, RUN_BURST, 1000, 0, 1, 10, 1, 10},
    {&fixed_window, RUN_BURST, 10000, 0, 1, 10, 0, 10},
    {&fixed_window, RUN_STEADY, 200, 10, 1, 20, 0, 11},
    {&sliding_window_log, RUN_STEADY, 200, 10, 1, 20, 1, 10},
    {&token_bucket, RUN_MANY_CLIENTS, 57 * 2, 0, 50, 49 * 2 + 10, 0, 10},
    {&sliding_window_log, RUN_BURST, 100, 0, 50, 100, 0, 2},
};

START_TEST(bursts_and_rates_are_foretold) {
    struct policy policy = policy_of(foretold[_i].algorithm);
    struct run_plan plan =
        plan_of(foretold[_i].scenario, foretold[_i].count, foretold[_i].rate, foretold[_i].clients, &policy);
    struct run_prediction said = predict(&plan, &policy, NOW_US);

    ck_assert_uint_eq(said.allowed, foretold[_i].allowed);
    ck_assert(said.least <= said.allowed && said.allowed <= said.most);
    ck_assert_uint_le(said.most - said.least, foretold[_i].spread);
    if (foretold[_i].algorithm != &fixed_window || foretold[_i].scenario == RUN_BURST)
        ck_assert_uint_eq(said.most_in_window, foretold[_i].most_in_window);
    else
        ck_assert_uint_ge(said.most_in_window, foretold[_i].most_in_window - 1);
    run_plan_free(&plan);
}
END_TEST

START_TEST(the_edge_lets_a_fixed_window_pass_nearly_twice) {
    struct policy fixed = policy_of(&fixed_window), log = policy_of(&sliding_window_log);
    struct run_plan plan = plan_of(RUN_WINDOW_EDGE, 1, 0, 1, &fixed);

    run_plan_aim(&plan, 10 * MICRO);
    ck_assert_uint_eq(predict(&plan, &fixed, NOW_US).most_in_window, 19);
    ck_assert_uint_eq(predict(&plan, &fixed, NOW_US).allowed, 20);
    ck_assert_uint_eq(predict(&plan, &log, NOW_US).most_in_window, 10);
    run_plan_free(&plan);
}
END_TEST

START_TEST(delay_and_shadow_are_foretold_as_they_are) {
    struct policy policy = policy_of(&leaky_bucket);
    struct run_plan plan = plan_of(RUN_BURST, 100, 0, 1, &policy);

    policy.on_limit = ON_LIMIT_DELAY;
    policy.max_delay_us = 5 * MICRO;
    ck_assert_uint_eq(predict(&plan, &policy, NOW_US).allowed, 15);
    policy.on_limit = ON_LIMIT_SHADOW;
    ck_assert_uint_eq(predict(&plan, &policy, NOW_US).allowed, 10); /* what the limit says */
    run_plan_free(&plan);
}
END_TEST

/* --- adding up --- */

START_TEST(the_most_in_a_window_is_each_keys_own) {
    const struct decision allowed = {.outcome = DECISION_ALLOWED, .count = 1};
    const struct decision denied = {
        .outcome = DECISION_DENIED, .count = 1, .limits = {{.retry_after_us = 9}}};
    struct run_tally tally = {.passed = NULL};

    ck_assert_uint_eq(run_tally_most(&tally, 10), 0);
    run_tally_add(&tally, &allowed, 10, 1); /* a window's length after the first: not within one */
    run_tally_add(&tally, &allowed, 0, 1);
    run_tally_add(&tally, &allowed, 5, 1);
    run_tally_add(&tally, &allowed, 6, 2);
    run_tally_add(&tally, &denied, 6, 1);
    ck_assert_uint_eq(run_tally_most(&tally, 10), 2);
    ck_assert_uint_eq(run_tally_most(&tally, 11), 3);
    ck_assert_uint_eq(tally.counts[RUN_ALLOWED], 4);
    ck_assert_uint_eq(tally.counts[RUN_DENIED], 1);
    ck_assert_int_eq(tally.longest_wait_us, 9);
    run_tally_free(&tally);
}
END_TEST

static const struct {
    struct decision decision;
    char letter;
} letters[] = {
    {{.outcome = DECISION_ALLOWED}, 'A'},
    {{.outcome = DECISION_DENIED}, 'D'},
    {{.outcome = DECISION_ALLOWED, .delayed_us = 1}, 'L'},
    {{.outcome = DECISION_ALLOWED, .shadow_denied = true}, 'S'},
    {{.outcome = DECISION_UNAVAILABLE}, 'E'},
};

START_TEST(each_outcome_has_its_letter) {
    ck_assert_int_eq(run_outcome_letter(run_outcome_of(&letters[_i].decision)), letters[_i].letter);
}
END_TEST

/* --- compare --- */

START_TEST(every_limit_is_translated_into_valid_ones) {
    static const struct {
        int64_t units, window_us;
    } sizes[] = {{1, 1000},          {10, 10 * MICRO},
                 {1000000000, 1000}, {3, 31536000 * MICRO},
                 {7, 1000003},       {1000000000, 31536000 * MICRO}};
    struct policy policy = policy_of(&fixed_window), out[RUN_COMPARED];
    struct err err = ERR_INIT;
    size_t param;

    policy.limits[0].params[FIXED_WINDOW_LIMIT] = sizes[_i].units * MICRO;
    policy.limits[0].params[FIXED_WINDOW_WINDOW] = sizes[_i].window_us;
    run_compare_policies(&policy, out);
    for (size_t i = 0; i < RUN_COMPARED; i++) {
        ck_assert_ptr_eq(out[i].limits[0].algorithm, algorithms[i]);
        ck_assert_msg(limit_settings_check(&out[i].limits[0], &param, &err) == 0, "%s: %s",
                      algorithms[i]->name, err.text);
    }
    ck_assert_int_eq(out[1].limits[0].params[1], sizes[_i].window_us); /* its own is kept */
}
END_TEST

START_TEST(ten_in_ten_seconds_is_one_a_second) {
    struct policy policy = policy_of(&fixed_window), out[RUN_COMPARED];

    run_compare_policies(&policy, out);
    ck_assert_int_eq(out[0].limits[0].params[TOKEN_BUCKET_CAPACITY], 10 * MICRO);
    ck_assert_int_eq(out[0].limits[0].params[TOKEN_BUCKET_REFILL_RATE], 1 * MICRO);
    ck_assert_int_eq(out[0].limits[0].params[TOKEN_BUCKET_REFILL_INTERVAL], 1 * MICRO);
    ck_assert_int_eq(out[4].limits[0].params[LEAKY_BUCKET_LEAK_RATE], 1 * MICRO);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run");
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, names_are_found_again);
    tcase_add_test(tcase, a_rate_spreads_evenly_and_zero_sends_at_once);
    tcase_add_test(tcase, one_of_many_sends_eight_times_as_much);
    tcase_add_loop_test(tcase, what_is_too_much_is_refused_by_name, 0, COUNT(refused));
    tcase_add_test(tcase, the_limits_of_a_run_are_allowed);
    tcase_add_test(tcase, an_edge_run_aims_at_both_sides);
    tcase_add_test(tcase, an_edge_lies_where_the_algorithm_has_it);
    tcase_add_test(tcase, an_edge_that_is_too_far_or_too_wide_is_refused);
    tcase_add_loop_test(tcase, bursts_and_rates_are_foretold, 0, COUNT(foretold));
    tcase_add_test(tcase, the_edge_lets_a_fixed_window_pass_nearly_twice);
    tcase_add_test(tcase, delay_and_shadow_are_foretold_as_they_are);
    tcase_add_test(tcase, the_most_in_a_window_is_each_keys_own);
    tcase_add_loop_test(tcase, each_outcome_has_its_letter, 0, COUNT(letters));
    tcase_add_loop_test(tcase, every_limit_is_translated_into_valid_ones, 0, 6);
    tcase_add_test(tcase, ten_in_ten_seconds_is_one_a_second);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
