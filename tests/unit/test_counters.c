/* Counting: rows survive snapshots, outcomes are told apart, the sample is bounded and fair. */
#include "unit/unit.h"

#include <string.h>

#include "http/counters.h"
#include "http/lab.h"

static struct config *make_config(const char *json) {
    struct config_refusal why = {0};
    struct config *config = config_parse(json, strlen(json), 1, &why);

    ck_assert_msg(config != NULL, "%s", why.err.text);
    return config;
}

static const struct policy *policy_of(const struct config *config, const char *name) {
    return config_policy(config, name, strlen(name));
}

static uint64_t count_of(const struct counters *counters, const char *policy, enum counted outcome) {
    size_t count;
    struct counter_row *const *rows = counters_rows(counters, &count);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i]->policy, policy) == 0) sum += rows[i]->counts[FROM_CLIENTS][outcome];
    return sum;
}

static const struct decision allowed = {.outcome = DECISION_ALLOWED, .count = 1},
                             denied = {.outcome = DECISION_DENIED,
                                       .count = 1,
                                       .limits = {{.retry_after_us = 5}}},
                             delayed = {.outcome = DECISION_ALLOWED, .delayed_us = 7},
                             shadow = {.outcome = DECISION_ALLOWED, .shadow_denied = true},
                             unavailable = {.outcome = DECISION_UNAVAILABLE};

static const struct {
    const struct decision *decision;
    enum counted outcome;
    const char *name;
} outcomes[] = {
    {&allowed, COUNTED_ALLOWED, "allowed"}, {&denied, COUNTED_DENIED, "denied"},
    {&delayed, COUNTED_DELAYED, "delayed"}, {&shadow, COUNTED_SHADOW_DENIED, "shadow_denied"},
    {&unavailable, COUNTED_ERROR, "error"},
};

START_TEST(outcomes_are_told_apart) {
    ck_assert_int_eq(counted_outcome(outcomes[_i].decision), outcomes[_i].outcome);
    ck_assert_str_eq(counted_name(outcomes[_i].outcome), outcomes[_i].name);
}
END_TEST

START_TEST(counts_survive_a_swap_by_name) {
    struct config *first = make_config("{\"policies\":{\"default\":{},\"b\":{}}}");
    struct config *second = make_config("{\"policies\":{\"a\":{},\"b\":{},\"default\":{}}}");
    struct counters *counters = counters_new();

    counters_adopt(counters, first);
    counters_add(counters, FROM_CLIENTS, first, policy_of(first, "b"), &allowed);
    counters_adopt(counters, second);
    counters_add(counters, FROM_CLIENTS, second, policy_of(second, "b"), &allowed);
    counters_add(counters, FROM_CLIENTS, second, policy_of(second, "a"), &denied);
    counters_add(counters, FROM_CLIENTS, first, policy_of(first, "b"), &allowed); /* began before the swap */
    counters_add(counters, FROM_RUNS, second, policy_of(second, "b"), &allowed);
    ck_assert_uint_eq(count_of(counters, "b", COUNTED_ALLOWED), 3);
    ck_assert_uint_eq(count_of(counters, "a", COUNTED_DENIED), 1);
    ck_assert_uint_eq(count_of(counters, "default", COUNTED_ALLOWED), 0);
    counters_free(counters);
    config_unref(first);
    config_unref(second);
}
END_TEST

START_TEST(a_sample_is_bounded_and_fair) {
    struct config *config = make_config("{\"policies\":{\"default\":{}}}");
    struct counters *counters = counters_new();
    struct sample sample[SAMPLE_MAX];
    size_t late = 0;

    counters_adopt(counters, config);
    counters_sample(counters, policy_of(config, "default"), "k", 1, &allowed);
    ck_assert_uint_eq(counters_take_sample(counters, sample), 0); /* nobody watches */
    counters_watch(counters, true);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 1000; i++)
            counters_sample(counters, policy_of(config, "default"), "k", 1, i < 500 ? &allowed : &denied);
        ck_assert_uint_eq(counters_take_sample(counters, sample), SAMPLE_MAX);
        for (int i = 0; i < SAMPLE_MAX; i++)
            late += sample[i].outcome == COUNTED_DENIED;
    }
    ck_assert_uint_gt(late, 350); /* of 1,000; half are meant */
    ck_assert_uint_lt(late, 650);
    counters_sample(counters, policy_of(config, "default"), "alice", 5, &denied);
    ck_assert_uint_eq(counters_take_sample(counters, sample), 1);
    ck_assert_str_eq(sample[0].key, "alice");
    ck_assert_int_eq(sample[0].wait_us, 5);
    counters_free(counters);
    config_unref(config);
}
END_TEST

START_TEST(the_board_tells_each_reader_what_is_new_to_it) {
    struct config *config = make_config("{\"policies\":{\"default\":{}}}");
    struct counters *workers[2] = {counters_new(), counters_new()};
    struct lab *lab = lab_new();
    struct lab_cursor cursor = {0};
    struct buf out = BUF_INIT(65536);

    for (int i = 0; i < 2; i++) {
        counters_adopt(workers[i], config);
        counters_add(workers[i], FROM_CLIENTS, config, policy_of(config, "default"), &allowed);
        lab_board_add(lab, workers[i]);
    }
    lab_board_read(lab, &cursor, &out);
    CHECK_CONTAINS(buf_str(&out), "\"policies\":{\"default\":{\"allowed\":2,\"denied\":0");
    buf_clear(&out);
    lab_board_add(lab, workers[0]);
    lab_board_read(lab, &cursor, &out);
    ck_assert_str_eq(buf_str(&out), "{\"policies\":{},\"runs\":{},\"sample\":[]}");
    buf_free(&out);
    lab_cursor_free(&cursor);
    for (int i = 0; i < 2; i++)
        counters_free(workers[i]);
    lab_free(lab);
    config_unref(config);
}
END_TEST

START_TEST(places_are_counted) {
    struct lab *lab = lab_new();
    bool first;

    for (int i = 0; i < LAB_LISTENERS_MAX; i++) {
        ck_assert(lab_listener_enter(lab, &first));
        ck_assert_int_eq(first, i == 0);
    }
    ck_assert(!lab_listener_enter(lab, &first));
    lab_listener_leave(lab);
    ck_assert(lab_listener_enter(lab, &first));
    ck_assert(lab_run_enter(lab) && lab_run_enter(lab) && !lab_run_enter(lab));
    lab_run_leave(lab);
    ck_assert(lab_run_enter(lab));
    lab_free(lab);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("counters");
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, outcomes_are_told_apart, 0, sizeof outcomes / sizeof outcomes[0]);
    tcase_add_test(tcase, counts_survive_a_swap_by_name);
    tcase_add_test(tcase, a_sample_is_bounded_and_fair);
    tcase_add_test(tcase, the_board_tells_each_reader_what_is_new_to_it);
    tcase_add_test(tcase, places_are_counted);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
