/* The algorithm table: names, bounds, words, and the token bucket's ten-year rule. */
#include "limit/algorithm.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/token_bucket.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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
    tcase_add_test(tests, words_are_cut_not_overrun);
    Suite *suite = suite_create("algorithm");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
