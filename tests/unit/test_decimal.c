/* Decimal text and millionths: exact and strict. */
#include <stdio.h>

#include "base/decimal.h"
#include "unit.h"

static const struct {
    const char *text;
    int64_t micro;
} good[] = {
    {"0", 0},
    {"-0", 0},
    {"-0.0", 0},
    {"0e5", 0},
    {"0e999999999999999999999999", 0},
    {"0.000000000000000000000000000", 0},
    {"1", 1000000},
    {"-1", -1000000},
    {"5", 5000000},
    {"1.5", 1500000},
    {"600.001", 600001000},
    {"0.0004", 400},
    {"0.1", 100000},
    {"0.3", 300000},
    {"0.000001", 1},
    {"-0.000001", -1},
    {"1.0000000", 1000000}, /* zeros behind the sixth decimal say nothing */
    {"1.000000000000000000000000000000000000", 1000000},
    {"1e2", 100000000},
    {"1E2", 100000000},
    {"1e+2", 100000000},
    {"1e-3", 1000},
    {"1e-6", 1},
    {"0.00001e5", 1000000},
    {"0.0000001e1", 1},
    {"10e-7", 1},
    {"100000000000e-5", 1000000000000},
    {"1000000000", 1000000000000000},
    {"999999999.999999", 999999999999999},
    {"9000000000", 9000000000000000},
    {"-9000000000", -9000000000000000},
    {"9e9", 9000000000000000},
    {"8.99999999999999e9", 8999999999999990},
    {"31536000", 31536000000000},
};

START_TEST(numbers_are_read_exactly) {
    int64_t micro = -77;
    ck_assert_int_eq(decimal_parse(good[_i].text, strlen(good[_i].text), &micro), DECIMAL_OK);
    ck_assert_msg(micro == good[_i].micro, "%s read as %lld", good[_i].text, (long long)micro);
}
END_TEST

static const struct {
    const char *text;
    enum decimal_status status;
} bad[] = {
    {"", DECIMAL_SYNTAX},
    {"-", DECIMAL_SYNTAX},
    {"+1", DECIMAL_SYNTAX},
    {" 1", DECIMAL_SYNTAX},
    {"1 ", DECIMAL_SYNTAX},
    {"1\n", DECIMAL_SYNTAX},
    {"007", DECIMAL_SYNTAX},
    {"00", DECIMAL_SYNTAX},
    {"-01", DECIMAL_SYNTAX},
    {"5.", DECIMAL_SYNTAX},
    {"-.5", DECIMAL_SYNTAX},
    {".5", DECIMAL_SYNTAX},
    {"1,5", DECIMAL_SYNTAX},
    {"1_000", DECIMAL_SYNTAX},
    {"0x10", DECIMAL_SYNTAX},
    {"nan", DECIMAL_SYNTAX},
    {"NaN", DECIMAL_SYNTAX},
    {"-nan", DECIMAL_SYNTAX},
    {"inf", DECIMAL_SYNTAX},
    {"Infinity", DECIMAL_SYNTAX},
    {"1e", DECIMAL_SYNTAX},
    {"1e+", DECIMAL_SYNTAX},
    {"1e1.5", DECIMAL_SYNTAX},
    {"1.e5", DECIMAL_SYNTAX},
    {"--1", DECIMAL_SYNTAX},
    {"5abc", DECIMAL_SYNTAX},
    {"\xef\xbc\x91", DECIMAL_SYNTAX},
    {"1.2.3", DECIMAL_SYNTAX},
    {"0.0000001", DECIMAL_PRECISION},
    {"1e-7", DECIMAL_PRECISION},
    {"1.1234567", DECIMAL_PRECISION},
    {"1e-320", DECIMAL_PRECISION},
    {"1e-99999999999999999999", DECIMAL_PRECISION},
    {"1234567890.123456", DECIMAL_PRECISION},
    {"9000000000.000001", DECIMAL_PRECISION},
    {"0.1000000000000000000000001", DECIMAL_PRECISION},
    {"9000000001", DECIMAL_RANGE},
    {"-9000000001", DECIMAL_RANGE},
    {"1e10", DECIMAL_RANGE},
    {"1e18", DECIMAL_RANGE},
    {"1e400", DECIMAL_RANGE},
    {"-1e400", DECIMAL_RANGE},
    {"1e99999999999999999999", DECIMAL_RANGE},
    {"123456789012345678901234567890", DECIMAL_RANGE},
    {"9223372036854775808", DECIMAL_RANGE},
    {"18446744073709551617", DECIMAL_RANGE},
};

START_TEST(what_is_no_exact_number_is_refused_and_writes_nothing) {
    int64_t micro = -77;
    enum decimal_status status = decimal_parse(bad[_i].text, strlen(bad[_i].text), &micro);
    ck_assert_msg(status == bad[_i].status, "\"%s\": status %d, not %d", bad[_i].text, (int)status,
                  (int)bad[_i].status);
    ck_assert_int_eq(micro, -77);
}
END_TEST

START_TEST(the_length_bounds_what_is_read) {
    int64_t micro = 0;
    ck_assert_int_eq(decimal_parse("12345", 2, &micro), DECIMAL_OK);
    ck_assert_int_eq(micro, 12000000);
    ck_assert_int_eq(decimal_parse("1\0", 2, &micro), DECIMAL_SYNTAX);
    ck_assert_int_eq(decimal_parse("1.5", 2, &micro), DECIMAL_SYNTAX);
    ck_assert_int_eq(decimal_parse("1e5", 2, &micro), DECIMAL_SYNTAX);
}
END_TEST

START_TEST(a_million_digits_are_read_without_harm) {
    enum { LENGTH = 1000000 };
    char *text = malloc(LENGTH);
    int64_t micro = 0;
    memset(text, '0', LENGTH);
    text[1] = '.';
    ck_assert_int_eq(decimal_parse(text, LENGTH, &micro), DECIMAL_OK);
    text[0] = '2';
    ck_assert_int_eq(decimal_parse(text, LENGTH, &micro), DECIMAL_OK);
    ck_assert_int_eq(micro, 2000000);
    text[LENGTH - 1] = '1';
    ck_assert_int_eq(decimal_parse(text, LENGTH, &micro), DECIMAL_PRECISION);
    memset(text, '9', LENGTH);
    ck_assert_int_eq(decimal_parse(text, LENGTH, &micro), DECIMAL_RANGE);
    free(text);
}
END_TEST

static const struct {
    int64_t micro;
    const char *text;
} formats[] = {
    {0, "0"},
    {1, "0.000001"},
    {-1, "-0.000001"},
    {10, "0.00001"},
    {100000, "0.1"},
    {1000000, "1"},
    {1500000, "1.5"},
    {3000000, "3"},
    {-2500000, "-2.5"},
    {10000000, "10"},
    {1000001, "1.000001"},
    {600001000, "600.001"},
    {9000000000000000, "9000000000"},
    {999999999999999, "999999999.999999"},
    {INT64_MAX, "9223372036854.775807"},
    {INT64_MIN, "-9223372036854.775808"},
};

START_TEST(the_shortest_decimal_is_written) {
    char text[DECIMAL_TEXT_MAX];
    size_t len = decimal_format(formats[_i].micro, text);
    ck_assert_str_eq(text, formats[_i].text);
    ck_assert_uint_eq(len, strlen(text));
}
END_TEST

START_TEST(whole_numbers_are_written_as_printf_does) {
    static const int64_t edges[] = {0, 9, 10, -1, -10, 1800000000, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        char text[DECIMAL_TEXT_MAX], wanted[DECIMAL_TEXT_MAX];
        snprintf(wanted, sizeof wanted, "%lld", (long long)edges[i]);
        ck_assert_uint_eq(decimal_whole(edges[i], text), strlen(wanted));
        ck_assert_str_eq(text, wanted);
    }
}
END_TEST

START_TEST(what_is_written_reads_back_as_the_same) {
    char text[DECIMAL_TEXT_MAX];
    uint64_t state = 1; /* a fixed sequence */
    for (int i = 0; i < 100000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int64_t micro = (int64_t)(state >> (14 + i % 40)) % 1000000000000000;
        if (i % 2) micro = -micro;
        int64_t back = 1;
        enum decimal_status status = decimal_parse(text, decimal_format(micro, text), &back);
        if (status != DECIMAL_OK || back != micro) ck_abort_msg("%s", text);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("decimal");
    TCase *tests = tcase_create("decimal");
    tcase_add_loop_test(tests, numbers_are_read_exactly, 0, sizeof good / sizeof good[0]);
    tcase_add_loop_test(tests, what_is_no_exact_number_is_refused_and_writes_nothing, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_test(tests, the_length_bounds_what_is_read);
    tcase_add_test(tests, a_million_digits_are_read_without_harm);
    tcase_add_loop_test(tests, the_shortest_decimal_is_written, 0, sizeof formats / sizeof formats[0]);
    tcase_add_test(tests, whole_numbers_are_written_as_printf_does);
    tcase_add_test(tests, what_is_written_reads_back_as_the_same);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
