/* The algorithm table: names, bounds, words, each algorithm's own rule, parts of a limit. */
#include "limit/algorithm.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/fixed_window.h"
#include "limit/leaky_bucket.h"
#include "limit/sliding_window_counter.h"
#include "limit/sliding_window_log.h"
#include "limit/token_bucket.h"
#include "unit.h"

#define RATE_WORDS "a number above 0 up to 1000000000 with at most six decimals"
#define CAPACITY_WORDS "a whole number from 1 to 1000000000"
#define INTERVAL_WORDS "a number from 0.001 to 31536000 with at most six decimals"
#define DAY_US (86400 * MICRO)

static struct limit_settings bucket(int64_t capacity, int64_t rate, int64_t interval) {
    struct limit_settings limit;
    limit_settings_default(&limit, &token_bucket);
    limit.params[TOKEN_BUCKET_CAPACITY] = capacity;
    limit.params[TOKEN_BUCKET_REFILL_RATE] = rate;
    limit.params[TOKEN_BUCKET_REFILL_INTERVAL] = interval;
    return limit;
}

START_TEST(table_is_whole) {
    ck_assert_uint_gt(algorithm_count, 0);
    ck_assert_str_eq(algorithms[0]->name, "token_bucket");
    for (size_t i = 0; i < algorithm_count; i++) {
        const struct algorithm *algorithm = algorithms[i];
        ck_assert_ptr_eq(algorithm_find(algorithm->name, strlen(algorithm->name)), algorithm);
        ck_assert(*algorithm->title && *algorithm->summary && algorithm->window_us);
        ck_assert(algorithm->wait && algorithm->fits && algorithm->take && algorithm->ttl);
        ck_assert_int_eq(algorithm->can_delay, algorithm->delay_max_us != NULL);
        ck_assert(algorithm->params[0].whole);
        ck_assert(algorithm->param_count >= 1 && algorithm->param_count <= PARAMS_MAX);
        for (size_t j = 0; j < algorithm->param_count; j++) {
            const struct param *param = &algorithm->params[j];
            ck_assert_int_eq(algorithm_param(algorithm, param->name), (int)j);
            ck_assert(*param->title && *param->unit && *param->summary);
            ck_assert_int_le(param->min, param->fallback);
            ck_assert_int_le(param->fallback, param->max);
        }
        struct limit_settings limit;
        size_t at;
        limit_settings_default(&limit, algorithm);
        ck_assert_int_eq(limit_settings_check(&limit, &at, NULL), 0);
    }
}
END_TEST

START_TEST(unknown_names) {
    ck_assert_ptr_null(algorithm_find("token_bucke", 11));
    ck_assert_ptr_null(algorithm_find("token_buckets", 13));
    ck_assert_ptr_null(algorithm_find("Token_bucket", 12));
    ck_assert_ptr_null(algorithm_find("", 0));
    ck_assert_ptr_eq(algorithm_find("token_bucket-and-more", 12), &token_bucket);
    ck_assert_int_eq(algorithm_param(&token_bucket, "limit"), -1);
    ck_assert_int_eq(algorithm_param(&token_bucket, ""), -1);
}
END_TEST

START_TEST(defaults) {
    struct limit_settings limit;
    memset(&limit, 0xff, sizeof limit);
    limit_settings_default(&limit, &token_bucket);
    ck_assert_str_eq(limit.name, "token_bucket");
    ck_assert_int_eq(limit.params[TOKEN_BUCKET_CAPACITY], 10 * MICRO);
    ck_assert_int_eq(limit.params[TOKEN_BUCKET_REFILL_RATE], MICRO);
    ck_assert_int_eq(limit.params[TOKEN_BUCKET_REFILL_INTERVAL], MICRO);
    ck_assert_int_eq(limit_units(&limit), 10);
    ck_assert_int_eq(limit_cost_max(&limit), 10);
    ck_assert_int_eq(token_bucket.window_us(limit.params), 10 * MICRO);
}
END_TEST

/* A cost limit of the algorithm holds beside the size: neither is passed. */
START_TEST(cost_limit) {
    static const struct {
        int64_t units, cost_max, right;
    } cases[] = {{10, 0, 10}, {10, 1000, 10}, {1000, 1000, 1000}, {100000, 1000, 1000}};
    struct algorithm other = token_bucket;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct limit_settings limit = bucket(cases[i].units * MICRO, MICRO, MICRO);
        limit.algorithm = &other;
        other.cost_max = cases[i].cost_max;
        ck_assert_int_eq(limit_cost_max(&limit), cases[i].right);
    }
}
END_TEST

/* case_alg_07, case_alg_09, case_alg_10, case_alg_11: kept exactly or refused, never rounded up or clamped.
 */
START_TEST(bounds) {
    static const struct {
        int64_t capacity, rate, interval;
        int param; /* the one named; -1: valid */
        const char *words;
    } cases[] = {
        {1 * MICRO, 200000, 1 * MICRO, -1, NULL},
        {1 * MICRO, 1, MICRO / 1000, -1, NULL},
        {1 * MICRO, MICRO, 31536000 * MICRO, -1, NULL},
        {1000000000 * MICRO, 1000000000 * MICRO, MICRO / 1000, -1, NULL},
        {0, MICRO, MICRO, 0, "must be " CAPACITY_WORDS "; got 0"},
        {-MICRO, MICRO, MICRO, 0, "must be " CAPACITY_WORDS "; got -1"},
        {1500000, MICRO, MICRO, 0, "must be " CAPACITY_WORDS "; got 1.5"},
        {1000000001 * MICRO, MICRO, MICRO, 0, "must be " CAPACITY_WORDS "; got 1000000001"},
        {MICRO, 0, MICRO, 1, "must be " RATE_WORDS "; got 0"},
        {MICRO, -1, MICRO, 1, "must be " RATE_WORDS "; got -0.000001"},
        {MICRO, 1000000000 * MICRO + 1, MICRO, 1, "must be " RATE_WORDS "; got 1000000000.000001"},
        {MICRO, MICRO, 0, 2, "must be " INTERVAL_WORDS "; got 0"},
        {MICRO, MICRO, -MICRO, 2, "must be " INTERVAL_WORDS "; got -1"},
        {MICRO, MICRO, 999, 2, "must be " INTERVAL_WORDS "; got 0.000999"},
        {MICRO, MICRO, 31536000 * MICRO + 1, 2, "must be " INTERVAL_WORDS "; got 31536000.000001"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct limit_settings limit = bucket(cases[i].capacity, cases[i].rate, cases[i].interval);
        struct err err = ERR_INIT;
        size_t param = 99;
        int result = limit_settings_check(&limit, &param, &err);
        ck_assert_msg(result == (cases[i].param < 0 ? 0 : -1), "case %zu: %s", i, err.text);
        if (cases[i].param < 0) {
            ck_assert_uint_eq(param, 99);
            ck_assert_str_eq(err.text, "");
        } else {
            ck_assert_uint_eq(param, cases[i].param);
            ck_assert_str_eq(err.text, cases[i].words);
        }
    }
}
END_TEST

/* Ten years from empty to full are allowed, one refill more is not. */
START_TEST(ten_years) {
    static const struct {
        int64_t capacity, rate, interval, least; /* least: the rate that the words recommend; 0: valid */
    } cases[] = {
        {3650 * MICRO, MICRO, DAY_US, 0},
        {3651 * MICRO, MICRO, DAY_US, 1000274},
        {3651 * MICRO, 1000274, DAY_US, 0},
        {3651 * MICRO, 1000273, DAY_US, 1000274},
        {315360000 * MICRO, MICRO, MICRO, 0},
        {315360001 * MICRO, MICRO, MICRO, 1000001},
        {10 * MICRO, MICRO, 31536000 * MICRO, 0},
        {11 * MICRO, MICRO, 31536000 * MICRO, 1100000},
        {1000000000 * MICRO, 1, MICRO / 1000, 3171},
        {1000000000 * MICRO, 1, 31536000 * MICRO, 100000000 * MICRO},
        {1000000000 * MICRO, 100000000 * MICRO, 31536000 * MICRO, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct limit_settings limit = bucket(cases[i].capacity, cases[i].rate, cases[i].interval);
        struct err err = ERR_INIT;
        size_t param = 99;
        int result = limit_settings_check(&limit, &param, &err);
        ck_assert_msg(result == (cases[i].least ? -1 : 0), "case %zu: %s", i, err.text);
        if (cases[i].least == 0) continue;
        char least[DECIMAL_TEXT_MAX], start[64];
        decimal_format(cases[i].least, least);
        snprintf(start, sizeof start, "must be at least %s, so that", least);
        ck_assert_uint_eq(param, TOKEN_BUCKET_REFILL_RATE);
        ck_assert_msg(strncmp(err.text, start, strlen(start)) == 0, "case %zu: %s", i, err.text);
        limit.params[TOKEN_BUCKET_REFILL_RATE] = cases[i].least;
        ck_assert_int_eq(limit_settings_check(&limit, &param, &err), 0);
    }
}
END_TEST

START_TEST(windows) {
    static const struct {
        int64_t capacity, rate, interval, window;
    } cases[] = {
        {10 * MICRO, 1 * MICRO, 1 * MICRO, 10 * MICRO},
        {10 * MICRO, 3 * MICRO, 1 * MICRO, 4 * MICRO},
        {1 * MICRO, 200000, 1 * MICRO, 5 * MICRO},
        {1 * MICRO, 300000, 1 * MICRO, 4 * MICRO},
        {10 * MICRO, 1000 * MICRO, 1500000, 1500000},
        {1000000000 * MICRO, 1000000000 * MICRO, 1000, 1000},
        {315360000 * MICRO, MICRO, MICRO, 315360000000000},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct limit_settings limit = bucket(cases[i].capacity, cases[i].rate, cases[i].interval);
        ck_assert_int_eq(token_bucket.window_us(limit.params), cases[i].window);
    }
}
END_TEST

static struct limit_settings settings(const struct algorithm *algorithm, int64_t a, int64_t b, int64_t c) {
    struct limit_settings limit;
    limit_settings_default(&limit, algorithm);
    limit.params[0] = a;
    limit.params[1] = b;
    limit.params[2] = c;
    return limit;
}

/* What cannot be counted exactly is refused; right below it is not. */
START_TEST(own_rules) {
    const struct {
        struct limit_settings limit;
        int param; /* the one named; -1: valid */
        const char *words;
    } cases[] = {
        {settings(&leaky_bucket, 4500 * MICRO, 17, 0), -1, NULL},
        {settings(&leaky_bucket, 4501 * MICRO, 17, 0), 1, "must have fewer decimals with a capacity of 4501"},
        {settings(&leaky_bucket, 4501 * MICRO, 333334, 0), -1, NULL},
        {settings(&leaky_bucket, 1000000000 * MICRO, 3250000, 0), -1, NULL},
        {settings(&leaky_bucket, 1000000000 * MICRO, 3200000, 0), 1, "must have fewer decimals"},
        {settings(&leaky_bucket, 1000000000 * MICRO, 3500000, 0), -1, NULL},
        {settings(&leaky_bucket, 1000000000 * MICRO, 3 * MICRO, 0), 1, "must be at least 3.17098, so that"},
        {settings(&leaky_bucket, 1000000000 * MICRO, 1000000000 * MICRO, 0), -1, NULL},
        {settings(&sliding_window_counter, 10 * MICRO, 10 * MICRO, 60 * MICRO), 2,
         "must divide the window of 10 s"},
        {settings(&sliding_window_counter, 10 * MICRO, 12 * MICRO, 60 * MICRO), -1, NULL},
        {settings(&sliding_window_counter, 10 * MICRO, 1000, 8 * MICRO), -1, NULL},
        {settings(&sliding_window_counter, 10 * MICRO, 1001, 7 * MICRO), -1, NULL},
        {settings(&sliding_window_counter, 10 * MICRO, 1000, 7 * MICRO), 2, "got 7"},
        {settings(&sliding_window_counter, 10 * MICRO, MICRO, 61 * MICRO), 2,
         "must be a whole number from 1 to 60"},
        {settings(&sliding_window_counter, 10 * MICRO, MICRO, 0), 2,
         "must be a whole number from 1 to 60; got 0"},
        {settings(&sliding_window_log, 100000 * MICRO, 31536000 * MICRO, 0), -1, NULL},
        {settings(&sliding_window_log, 100001 * MICRO, MICRO, 0), 0,
         "must be a whole number from 1 to 100000"},
        {settings(&fixed_window, 1000000000 * MICRO, 999, 0), 1, "must be a number from 0.001 to 31536000"},
        {settings(&fixed_window, 1000000000 * MICRO, 1000, 0), -1, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = ERR_INIT;
        size_t param = 99;
        int result = limit_settings_check(&cases[i].limit, &param, &err);
        ck_assert_msg(result == (cases[i].param < 0 ? 0 : -1), "case %zu: %s", i, err.text);
        ck_assert_msg(param == (cases[i].param < 0 ? 99 : (size_t)cases[i].param), "case %zu: %zu", i, param);
        if (cases[i].words) CHECK_CONTAINS(err.text, cases[i].words);
    }
    const struct limit_settings log = settings(&sliding_window_log, 100000 * MICRO, MICRO, 0);
    ck_assert_int_eq(limit_cost_max(&log), 1000);
}
END_TEST

START_TEST(delays) {
    const struct {
        struct limit_settings limit;
        int64_t delay_us;
        const char *words; /* NULL: valid */
    } cases[] = {
        {settings(&token_bucket, 10 * MICRO, MICRO, MICRO), 30 * MICRO, NULL},
        {settings(&leaky_bucket, 10 * MICRO, MICRO, 0), 30 * MICRO, NULL},
        {settings(&fixed_window, 10 * MICRO, MICRO, 0), 1, "fixed_window"},
        {settings(&token_bucket, MICRO, 1000000000 * MICRO, 1000), 1000, NULL},
        {settings(&token_bucket, MICRO, 1000000000 * MICRO, 1000), 1001, "must be at most 0.001 s"},
        {settings(&leaky_bucket, MICRO, 1000000000 * MICRO, 0), 30 * MICRO, "must be at most 4.499999 s"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = ERR_INIT;
        int result = limit_settings_check_delay(&cases[i].limit, cases[i].delay_us, &err);
        ck_assert_msg(result == (cases[i].words ? -1 : 0), "case %zu: %s", i, err.text);
        if (cases[i].words) CHECK_CONTAINS(err.text, cases[i].words);
    }
}
END_TEST

/* Every part is a valid limit, and all parts together are about the whole. */
START_TEST(parts) {
    const struct {
        struct limit_settings limit;
        int64_t instances, size, rate;
    } cases[] = {
        {settings(&token_bucket, 10 * MICRO, 3 * MICRO, MICRO), 1, 10 * MICRO, 3 * MICRO},
        {settings(&token_bucket, 10 * MICRO, 3 * MICRO, MICRO), 3, 3 * MICRO, 1 * MICRO},
        {settings(&token_bucket, 10 * MICRO, 1 * MICRO, MICRO), 3, 3 * MICRO, 333334},
        {settings(&token_bucket, 10 * MICRO, 1 * MICRO, MICRO), 1000, 1 * MICRO, 1000},
        {settings(&token_bucket, MICRO, 1, MICRO), 1000, MICRO, 1},
        {settings(&leaky_bucket, 100000 * MICRO, 1000 * MICRO, 0), 3, 33333 * MICRO, 333333340},
        {settings(&leaky_bucket, 100000000 * MICRO, 1000 * MICRO, 0), 3, 33333333 * MICRO, 333340000},
        {settings(&fixed_window, 10 * MICRO, 10 * MICRO, 0), 4, 2 * MICRO, 10 * MICRO},
        {settings(&sliding_window_log, 10 * MICRO, 10 * MICRO, 0), 11, MICRO, 10 * MICRO},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct limit_settings part = limit_settings_share(&cases[i].limit, cases[i].instances);
        size_t param;
        ck_assert_msg(part.params[0] == cases[i].size && part.params[1] == cases[i].rate,
                      "case %zu: %lld, %lld", i, (long long)part.params[0], (long long)part.params[1]);
        ck_assert_int_eq(part.params[2], cases[i].limit.params[2]);
        ck_assert_int_eq(limit_settings_check(&part, &param, NULL), 0);
    }
}
END_TEST

START_TEST(words_are_cut_not_overrun) {
    char small[8] = "#######";
    param_allowed(&token_bucket.params[0], small, 4);
    ck_assert_str_eq(small, "a w");
    ck_assert_int_eq(small[4], '#');
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("algorithm");
    tcase_add_test(tests, table_is_whole);
    tcase_add_test(tests, unknown_names);
    tcase_add_test(tests, defaults);
    tcase_add_test(tests, cost_limit);
    tcase_add_test(tests, bounds);
    tcase_add_test(tests, ten_years);
    tcase_add_test(tests, windows);
    tcase_add_test(tests, own_rules);
    tcase_add_test(tests, delays);
    tcase_add_test(tests, parts);
    tcase_add_test(tests, words_are_cut_not_overrun);
    Suite *suite = suite_create("algorithm");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
