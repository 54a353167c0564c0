/* From the fields of a key to a state, and from a state to numbers for people, for each algorithm. */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/algorithm_field.h"
#include "limit/exact.h"

static const int64_t NOW_US = 1700000000 * MICRO;

struct pair {
    const char *name, *value;
};

/* A key as the script writes it, and what is said of it a little later. */
static const struct {
    const char *algorithm;
    struct pair fields[3];
    int64_t later_us;
    const char *said; /* "name=value ..." */
} described[] = {
    {"token_bucket", {{NULL, NULL}}, 0, "tokens=10 next_token=0 full_in=0"},
    {"token_bucket",
     {{"tokens", "7.5"}, {"last_refill", "1700000000000000"}},
     400000,
     "tokens=7.5 next_token=0.6 full_in=2.6"},
    {"token_bucket",
     {{"tokens", "-2"}, {"last_refill", "1700000000000000"}},
     0,
     "tokens=-2 next_token=3 full_in=12"},
    {"fixed_window", {{NULL, NULL}}, 0, "used=0 resets_in=0"},
    {"fixed_window",
     {{"count", "3"}, {"window_start", "1700000000000000"}},
     4000000,
     "used=3 resets_in=6 window_start=1700000000 window_end=1700000010"},
    {"fixed_window", {{"count", "3"}, {"window_start", "1700000000000000"}}, 10000000, "used=0 resets_in=0"},
    {"sliding_window_log", {{NULL, NULL}}, 0, "used=0 oldest_leaves_in=0"},
    {"sliding_window_log",
     {{"0000000000000005:2", "1700000000000000"}, {"0000000000000006:1", "1700000003000000"}},
     4000000,
     "used=3 oldest_leaves_in=6"},
    {"sliding_window_log",
     {{"0000000000000005:2", "1700000000000000"}, {"0000000000000006:1", "1700000003000000"}},
     11000000,
     "used=1 oldest_leaves_in=2"},
    {"sliding_window_counter", {{NULL, NULL}}, 0, "previous=0 weight=1 current=0 estimate=0"},
    {"sliding_window_counter",
     {{"1699999990000000", "8"}, {"1700000000000000", "5"}},
     5800000,
     "previous=8 weight=0.42 current=5 estimate=8.36"},
    {"leaky_bucket", {{NULL, NULL}}, 0, "level=0 room_in=0 empty_in=0"},
    {"leaky_bucket",
     {{"level", "9.5"}, {"last_leak", "1700000000000000"}},
     250000,
     "level=9.25 room_in=0.25 empty_in=9.25"},
};

static size_t fields_of(const struct pair *pairs, struct algorithm_field *fields) {
    size_t count = 0;

    for (; count < 3 && pairs[count].name; count++)
        fields[count] = (struct algorithm_field){pairs[count].name, pairs[count].value,
                                                 strlen(pairs[count].name), strlen(pairs[count].value)};
    return count;
}

static void say(const struct algorithm *algorithm, const struct algorithm_state *state, int64_t now_us,
                char *out, size_t size) {
    struct limit_settings limit;
    struct algorithm_value values[ALGORITHM_VALUES_MAX];
    size_t len = 0;

    limit_settings_default(&limit, algorithm);
    const struct moment at = {limit.params, now_us, 5 * MICRO};
    size_t count = algorithm->describe(&at, state, values);
    ck_assert_uint_le(count, ALGORITHM_VALUES_MAX);
    for (size_t i = 0; i < count; i++) {
        char number[DECIMAL_TEXT_MAX];
        decimal_format(values[i].value, number);
        ck_assert_uint_gt(strlen(values[i].title), 0);
        len += (size_t)snprintf(out + len, size - len, "%s%s=%s", i ? " " : "", values[i].name, number);
    }
}

START_TEST(keys_are_read_and_described) {
    const struct algorithm *algorithm =
        algorithm_find(described[_i].algorithm, strlen(described[_i].algorithm));
    struct algorithm_field fields[3];
    struct algorithm_state state = {.words = NULL};
    size_t count = fields_of(described[_i].fields, fields);
    char said[256] = "";

    if (count > 0) ck_assert(algorithm->read(fields, count, &state));
    say(algorithm, &state, NOW_US + described[_i].later_us, said, sizeof said);
    ck_assert_str_eq(said, described[_i].said);
    algorithm_state_free(&state);
}
END_TEST

static const struct {
    const char *algorithm;
    struct pair fields[3];
} nonsense[] = {
    {"token_bucket", {{"tokens", "seven"}, {"last_refill", "1"}}},
    {"token_bucket", {{"tokens", "7"}}},
    {"token_bucket", {{"tokens", "7."}, {"last_refill", "1"}}},
    {"token_bucket", {{"tokens", "7.1234567"}, {"last_refill", "1"}}},
    {"token_bucket", {{"tokens", "7"}, {"last_refill", "9000000000000001"}}},
    {"token_bucket", {{"tokens", ""}, {"last_refill", "1"}}},
    {"fixed_window", {{"count", "nan"}, {"window_start", "1"}}},
    {"fixed_window", {{"count", "1"}, {"window_start", "-1"}}},
    {"sliding_window_log", {{"5", "1"}}},
    {"sliding_window_log", {{"5:6", "1"}}},
    {"sliding_window_log", {{"5:0", "1"}}},
    {"sliding_window_log", {{"5:1", "1"}, {"5:1", "2"}}},
    {"sliding_window_counter", {{"a", "1"}}},
    {"leaky_bucket", {{"level", "1.1234567890123"}, {"last_leak", "1"}}},
    {"leaky_bucket", {{"level", "1"}}},
};

START_TEST(nonsense_is_not_read) {
    const struct algorithm *algorithm =
        algorithm_find(nonsense[_i].algorithm, strlen(nonsense[_i].algorithm));
    struct algorithm_field fields[3];
    struct algorithm_state state = {.words = NULL};
    size_t count = fields_of(nonsense[_i].fields, fields);

    ck_assert(!algorithm->read(fields, count, &state));
    ck_assert_uint_eq(state.count, 0);
}
END_TEST

START_TEST(every_algorithm_can_be_read_and_described) {
    ck_assert_ptr_nonnull(algorithms[_i]->read);
    ck_assert_ptr_nonnull(algorithms[_i]->describe);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("describe");
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, keys_are_read_and_described, 0, COUNT(described));
    tcase_add_loop_test(tcase, nonsense_is_not_read, 0, COUNT(nonsense));
    tcase_add_loop_test(tcase, every_algorithm_can_be_read_and_described, 0, (int)algorithm_count);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
