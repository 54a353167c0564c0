/* The headers of a decision, to the letter, and the choice of the limit that binds. */
#include "limit/rate_headers.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/token_bucket.h"
#include "unit.h"

#define WALL_US (1700000000 * MICRO)
#define DECADE_US (315360000 * MICRO)

/* All headers as "Name: value\n", in order. */
struct seen {
    char text[4096];
};

static void collect(void *arg, const char *name, const char *value) {
    struct seen *seen = arg;
    size_t len = strlen(seen->text);
    snprintf(seen->text + len, sizeof seen->text - len, "%s: %s\n", name, value);
}

static void add_limit(struct policy *policy, const char *name, int64_t capacity, int64_t rate,
                      int64_t interval) {
    struct limit_settings *limit = &policy->limits[policy->limit_count++];
    limit_settings_default(limit, &token_bucket);
    snprintf(limit->name, sizeof limit->name, "%s", name);
    limit->params[TOKEN_BUCKET_CAPACITY] = capacity;
    limit->params[TOKEN_BUCKET_REFILL_RATE] = rate;
    limit->params[TOKEN_BUCKET_REFILL_INTERVAL] = interval;
}

static struct policy one_limit(void) {
    struct policy policy = {.name = "default"};
    add_limit(&policy, "token_bucket", 10 * MICRO, MICRO, MICRO);
    return policy;
}

static struct policy two_limits(void) {
    struct policy policy = {.name = "default"};
    add_limit(&policy, "burst", 10 * MICRO, MICRO, MICRO);
    add_limit(&policy, "daily", 1000 * MICRO, 1000 * MICRO, 86400 * MICRO);
    return policy;
}

static void expect(const struct policy *policy, const struct decision *decision, int64_t wall_us, bool fields,
                   const char *right) {
    struct seen seen = {""};
    rate_headers(policy, decision, wall_us, fields, collect, &seen);
    ck_assert_str_eq(seen.text, right);
}

START_TEST(allowed) {
    struct policy policy = one_limit();
    struct decision decision = {.count = 1, .limits = {{.remaining = 9, .reset_after_us = 999999}}};
    expect(&policy, &decision, WALL_US, true,
           "X-RateLimit-Limit: 10\nX-RateLimit-Remaining: 9\nX-RateLimit-Reset: 1700000001\n"
           "RateLimit-Policy: \"default\";q=10;w=10\nRateLimit: \"default\";r=9;t=1\n");
}
END_TEST

START_TEST(full_resets_now) {
    struct policy policy = one_limit();
    struct decision decision = {.count = 1, .limits = {{.remaining = 10}}};
    expect(&policy, &decision, WALL_US, true,
           "X-RateLimit-Limit: 10\nX-RateLimit-Remaining: 10\nX-RateLimit-Reset: 1700000000\n"
           "RateLimit-Policy: \"default\";q=10;w=10\nRateLimit: \"default\";r=10;t=0\n");
}
END_TEST

START_TEST(denied) {
    struct policy policy = one_limit();
    struct decision decision = {.outcome = DECISION_DENIED,
                                .count = 1,
                                .limits = {{.remaining = 0, .reset_after_us = 1, .retry_after_us = 2000001}}};
    expect(&policy, &decision, WALL_US + 999999, true,
           "X-RateLimit-Limit: 10\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1700000001\n"
           "RateLimit-Policy: \"default\";q=10;w=10\nRateLimit: \"default\";r=0;t=1\nRetry-After: 3\n");
}
END_TEST

START_TEST(retry_after_is_at_least_one) {
    static const struct {
        int64_t us;
        const char *line;
    } cases[] = {{0, "Retry-After: 1\n"},       {1, "Retry-After: 1\n"},
                 {999999, "Retry-After: 1\n"},  {1000000, "Retry-After: 1\n"},
                 {1000001, "Retry-After: 2\n"}, {DECADE_US, "Retry-After: 315360000\n"}};
    struct policy policy = one_limit();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct decision decision = {
            .outcome = DECISION_DENIED, .count = 1, .limits = {{.retry_after_us = cases[i].us}}};
        struct seen seen = {""};
        rate_headers(&policy, &decision, WALL_US, false, collect, &seen);
        const char *line = strstr(seen.text, "Retry-After");
        ck_assert_ptr_nonnull(line);
        ck_assert_str_eq(line, cases[i].line);
    }
}
END_TEST

START_TEST(without_fields) {
    struct policy policy = one_limit();
    struct decision decision = {.count = 1, .limits = {{.remaining = 3, .reset_after_us = 500}}};
    expect(&policy, &decision, WALL_US, false,
           "X-RateLimit-Limit: 10\nX-RateLimit-Remaining: 3\nX-RateLimit-Reset: 1700000001\n");
}
END_TEST

/* A millisecond's window would be "w=0" if it were rounded down. */
START_TEST(window_is_at_least_a_second) {
    struct policy policy = {.name = "fast"};
    add_limit(&policy, "token_bucket", 5 * MICRO, 5 * MICRO, MICRO / 1000);
    struct decision decision = {.count = 1, .limits = {{.remaining = 5}}};
    expect(&policy, &decision, WALL_US, true,
           "X-RateLimit-Limit: 5\nX-RateLimit-Remaining: 5\nX-RateLimit-Reset: 1700000000\n"
           "RateLimit-Policy: \"fast\";q=5;w=1\nRateLimit: \"fast\";r=5;t=0\n");
}
END_TEST

START_TEST(no_numbers_no_headers) {
    struct policy policy = one_limit();
    struct decision open = {.source = SOURCE_NONE},
                    closed = {.outcome = DECISION_UNAVAILABLE, .source = SOURCE_NONE};
    expect(&policy, &open, WALL_US, true, "X-RateLimit-Limit: 10\n");
    expect(&policy, &closed, WALL_US, true, "");
}
END_TEST

/* Let through although a limit said no: nobody is told to wait. */
START_TEST(shadow_has_no_retry_after) {
    struct policy policy = one_limit();
    struct decision decision = {
        .shadow_denied = true,
        .count = 1,
        .limits = {{.remaining = 0, .reset_after_us = 1000000, .retry_after_us = 1000000}}};
    expect(&policy, &decision, WALL_US, false,
           "X-RateLimit-Limit: 10\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1700000001\n");
}
END_TEST

START_TEST(several_limits) {
    struct policy policy = two_limits();
    struct decision decision = {
        .outcome = DECISION_DENIED,
        .count = 2,
        .binding = 1,
        .limits = {{.remaining = 4, .reset_after_us = 1000000},
                   {.remaining = 0, .reset_after_us = 40000000, .retry_after_us = 40000000}}};
    expect(&policy, &decision, WALL_US, true,
           "X-RateLimit-Limit: 1000\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1700000040\n"
           "RateLimit-Policy: \"default/burst\";q=10;w=10, \"default/daily\";q=1000;w=86400\n"
           "RateLimit: \"default/burst\";r=4;t=1, \"default/daily\";r=0;t=40\nRetry-After: 40\n");
}
END_TEST

/* The longest names and numbers there can be: nothing is cut. */
START_TEST(longest_line) {
    struct policy policy = {.limit_count = 0};
    struct decision decision = {.outcome = DECISION_DENIED, .count = LIMITS_MAX};
    const char shadow[] = "X-RateLimit-Shadow: denied\r\n";
    char limit[LIMIT_NAME_MAX + 1] = "";
    memset(policy.name, 'p', POLICY_NAME_MAX);
    memset(limit, 'l', LIMIT_NAME_MAX);
    for (size_t i = 0; i < LIMITS_MAX; i++) {
        add_limit(&policy, limit, 1000000000 * MICRO, 100000000 * MICRO, 31536000 * MICRO);
        decision.limits[i] = (struct limit_state){
            .remaining = 1000000000, .reset_after_us = DECADE_US, .retry_after_us = DECADE_US};
    }
    struct seen seen = {""};
    rate_headers(&policy, &decision, WALL_US, true, collect, &seen);
    size_t members = 0;
    for (const char *at = seen.text; (at = strstr(at, ";q=1000000000;w=315360000")); at++)
        members++;
    ck_assert_uint_eq(members, LIMITS_MAX);
    for (const char *at = seen.text; (at = strstr(at, ";r=1000000000;t=315360000")); at++)
        members++;
    ck_assert_uint_eq(members, 2 * LIMITS_MAX);
    size_t len = strlen(seen.text) + strlen(shadow);
    for (const char *at = seen.text; (at = strchr(at, '\n')); at++)
        len++; /* CR */
    ck_assert_uint_le(len, RATE_HEADERS_MAX);
    ck_assert_uint_gt(len, RATE_HEADERS_MAX - 300);
}
END_TEST

START_TEST(seconds_round_up) {
    static const struct {
        int64_t us, seconds;
    } cases[] = {{0, 0},  {1, 1},        {999999, 1}, {1000000, 1}, {1000001, 2}, {DECADE_US, 315360000},
                 {-1, 0}, {-1000000, -1}};
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_int_eq(seconds_up(cases[i].us), cases[i].seconds);
}
END_TEST

START_TEST(binding) {
    static const struct {
        struct limit_state limits[3];
        bool denied;
        size_t right;
    } cases[] = {
        {{{.remaining = 3}, {.remaining = 2}, {.remaining = 5}}, false, 1},
        {{{.remaining = 2}, {.remaining = 2}, {.remaining = 2}}, false, 0},
        {{{.remaining = 0}, {.retry_after_us = 5}, {.retry_after_us = 9}}, true, 2},
        {{{.retry_after_us = 9}, {.retry_after_us = 9}, {.retry_after_us = 1}}, true, 0},
        {{{.remaining = 0}, {.remaining = 5, .retry_after_us = 7}, {.remaining = 0}}, true, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_uint_eq(decision_binding(cases[i].limits, 3, cases[i].denied), cases[i].right);
    }
}
END_TEST

START_TEST(names) {
    static const char *const sources[] = {"redis", "cache", "local", "none"};
    for (size_t i = 0; i < COUNT(sources); i++)
        ck_assert_str_eq(decision_source_name((enum decision_source)i), sources[i]);
    static const char *const modes[] = {"local", "open", "closed"}, *const on_limit[] = {"reject", "shadow",
                                                                                         "delay"};
    for (size_t i = 0; i < COUNT(modes); i++) {
        ck_assert_int_eq(on_redis_error_find(modes[i]), (int)i);
        ck_assert_str_eq(on_redis_error_name((enum on_redis_error)i), modes[i]);
        ck_assert_int_eq(on_limit_find(on_limit[i]), (int)i);
        ck_assert_str_eq(on_limit_name((enum on_limit)i), on_limit[i]);
    }
    ck_assert_int_eq(on_redis_error_find("Local"), -1);
    ck_assert_int_eq(on_limit_find(""), -1);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("rate_headers");
    tcase_add_test(tests, allowed);
    tcase_add_test(tests, full_resets_now);
    tcase_add_test(tests, denied);
    tcase_add_test(tests, retry_after_is_at_least_one);
    tcase_add_test(tests, without_fields);
    tcase_add_test(tests, window_is_at_least_a_second);
    tcase_add_test(tests, no_numbers_no_headers);
    tcase_add_test(tests, shadow_has_no_retry_after);
    tcase_add_test(tests, several_limits);
    tcase_add_test(tests, longest_line);
    tcase_add_test(tests, seconds_round_up);
    tcase_add_test(tests, binding);
    tcase_add_test(tests, names);
    Suite *suite = suite_create("rate_headers");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
