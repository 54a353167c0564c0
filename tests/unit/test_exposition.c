/* Histograms and the text format of Prometheus, byte for byte. */
#include "http/exposition.h"

#include <locale.h>

#include "unit/unit.h"

static struct buf out;

static void setup(void) {
    out = (struct buf)BUF_INIT(64 * 1024);
}

static void teardown(void) {
    buf_free(&out);
}

START_TEST(values_fall_below_their_bound) {
    struct histogram histogram = {.scale = &histogram_sizes};
    static const struct {
        int64_t value;
        size_t at;
    } cases[] = {
        {0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {1024, 10}, {1025, 11}, {INT64_C(1) << 40, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t before = histogram.counts[cases[i].at];
        histogram_add(&histogram, cases[i].value);
        ck_assert_uint_eq(histogram.counts[cases[i].at], before + 1);
        ck_assert_uint_eq(histogram_total(&histogram), i + 1);
    }
}
END_TEST

START_TEST(bounds_rise) {
    const struct histogram_scale *const scales[] = {&histogram_times, &histogram_sizes};
    for (size_t s = 0; s < 2; s++) {
        ck_assert_uint_gt(scales[s]->count, 0);
        ck_assert_uint_le(scales[s]->count, HISTOGRAM_BOUNDS_MAX);
        for (size_t i = 1; i < scales[s]->count; i++)
            ck_assert_int_gt(scales[s]->bounds[i], scales[s]->bounds[i - 1]);
    }
}
END_TEST

START_TEST(histograms_merge) {
    struct histogram a = {.scale = &histogram_times}, b = {.scale = &histogram_times};
    histogram_add(&a, 10);
    histogram_add(&b, 10);
    histogram_add(&b, 700);
    histogram_merge(&a, &b);
    ck_assert_uint_eq(a.counts[0], 2);
    ck_assert_uint_eq(a.counts[4], 1);
    ck_assert_int_eq(a.sum, 720);
}
END_TEST

START_TEST(a_histogram_is_cumulative_and_in_seconds) {
    struct histogram histogram = {.scale = &histogram_times};
    histogram_add(&histogram, 40);
    histogram_add(&histogram, 60);
    histogram_add(&histogram, 9000000);
    exposition_histogram(&out, "t_seconds", "How long.", &histogram, 1e6);
    CHECK_CONTAINS(buf_str(&out), "# HELP t_seconds How long.\n# TYPE t_seconds histogram\n"
                                  "t_seconds_bucket{le=\"0.00005\"} 1\nt_seconds_bucket{le=\"0.0001\"} 2\n");
    CHECK_CONTAINS(buf_str(&out), "t_seconds_bucket{le=\"5\"} 2\nt_seconds_bucket{le=\"+Inf\"} 3\n"
                                  "t_seconds_sum 9.0001\nt_seconds_count 3\n");
}
END_TEST

START_TEST(label_values_are_escaped) {
    const struct label labels[] = {{"a", "x\"y\\z\nw"}, {"b", ""}};
    exposition_sample(&out, "m", labels, 2, 3);
    ck_assert_str_eq(buf_str(&out), "m{a=\"x\\\"y\\\\z\\nw\",b=\"\"} 3\n");
}
END_TEST

static const struct {
    double value;
    const char *text;
} numbers[] = {{0, "m 0\n"},         {1.5, "m 1.5\n"},       {0.000001, "m 0.000001\n"},
               {0.9999999, "m 1\n"}, {12.034, "m 12.034\n"}, {9007199254740992.0, "m 9007199254740992\n"}};

START_TEST(numbers_are_plain_decimals) {
    ck_assert_ptr_nonnull(setlocale(LC_ALL, "de_DE.UTF-8")); /* writes 1,5 */
    exposition_sample(&out, "m", NULL, 0, numbers[_i].value);
    ck_assert_str_eq(buf_str(&out), numbers[_i].text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("exposition");
    TCase *tcase = tcase_create("text");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, values_fall_below_their_bound);
    tcase_add_test(tcase, bounds_rise);
    tcase_add_test(tcase, histograms_merge);
    tcase_add_test(tcase, a_histogram_is_cumulative_and_in_seconds);
    tcase_add_test(tcase, label_values_are_escaped);
    tcase_add_loop_test(tcase, numbers_are_plain_decimals, 0, (int)(sizeof numbers / sizeof *numbers));
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
