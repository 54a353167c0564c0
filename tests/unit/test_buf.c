/* The growing buffer: content, growth, the maximum, and who owns the bytes. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "unit.h"

START_TEST(empty_reads_as_empty_text) {
    struct buf buf = BUF_INIT(100);
    ck_assert_str_eq(buf_str(&buf), "");
    ck_assert_ptr_null(buf.data);
    buf_add(&buf, "", 0);
    buf_adds(&buf, "");
    ck_assert_uint_eq(buf.len, 0);
    ck_assert(!buf.overflow);
    char *taken = buf_take(&buf);
    ck_assert_str_eq(taken, "");
    free(taken);
}
END_TEST

START_TEST(every_way_of_adding_appends) {
    struct buf buf = BUF_INIT(1000);
    buf_adds(&buf, "ab");
    buf_addc(&buf, 'c');
    buf_add(&buf, "d\0e", 3);
    buf_addf(&buf, "-%s-%d", "x", 7);
    buf_add_int(&buf, -42);
    ck_assert_uint_eq(buf.len, 13);
    ck_assert_mem_eq(buf.data, "abcd\0e-x-7-42", 14);
    buf_free(&buf);
}
END_TEST

static const struct {
    int64_t value;
    const char *text;
} integers[] = {
    {0, "0"},
    {7, "7"},
    {-1, "-1"},
    {1000000, "1000000"},
    {INT64_MAX, "9223372036854775807"},
    {INT64_MIN, "-9223372036854775808"},
};

START_TEST(integers_are_decimal) {
    struct buf buf = BUF_INIT(64);
    buf_add_int(&buf, integers[_i].value);
    ck_assert_str_eq(buf_str(&buf), integers[_i].text);
    buf_free(&buf);
}
END_TEST

START_TEST(grows_byte_by_byte_to_the_maximum_and_no_further) {
    struct buf buf = BUF_INIT(1000);
    for (int i = 0; i < 1000; i++) {
        buf_addc(&buf, (char)('a' + i % 26));
        ck_assert_int_eq(buf.data[buf.len], '\0');
    }
    ck_assert_uint_eq(buf.len, 1000);
    ck_assert(!buf.overflow);
    buf_addc(&buf, '!');
    ck_assert(buf.overflow);
    ck_assert_uint_eq(buf.len, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(buf.data[i], 'a' + i % 26);
    buf_free(&buf);
}
END_TEST

START_TEST(room_made_before_is_no_content_and_bounded) {
    struct buf buf = BUF_INIT(100);
    buf_expect(&buf, 1000);
    ck_assert_str_eq(buf_str(&buf), "");
    ck_assert_uint_le(buf.cap, 101);
    char *before = buf.data, *at = buf_extend(&buf, 3);
    memcpy(at, "abc", 3);
    ck_assert_str_eq(buf_str(&buf), "abc");
    for (int i = 0; i < 96; i++)
        buf_addc(&buf, 'x');
    ck_assert_ptr_eq(buf.data, before); /* no second allocation */
    ck_assert_ptr_null(buf_extend(&buf, 2));
    ck_assert(buf.overflow);
    ck_assert_uint_eq(buf.len, 99);
    buf_free(&buf);
    struct buf none = BUF_INIT(0);
    buf_expect(&none, 10);
    buf_addc(&none, 'x');
    ck_assert(none.overflow);
    buf_free(&none);
}
END_TEST

START_TEST(what_does_not_fit_is_dropped_whole_with_all_that_follows) {
    struct buf buf = BUF_INIT(5);
    buf_adds(&buf, "abc");
    buf_adds(&buf, "def");
    ck_assert(buf.overflow);
    ck_assert_str_eq(buf_str(&buf), "abc");
    buf_addc(&buf, 'x'); /* would fit, but would leave a hole */
    buf_add_int(&buf, 1);
    buf_addf(&buf, "%d", 2);
    ck_assert_str_eq(buf_str(&buf), "abc");
    buf_clear(&buf);
    ck_assert(!buf.overflow);
    ck_assert_str_eq(buf_str(&buf), "");
    buf_adds(&buf, "vwxyz");
    ck_assert_str_eq(buf_str(&buf), "vwxyz");
    buf_free(&buf);
}
END_TEST

START_TEST(a_maximum_of_nothing_holds_nothing) {
    struct buf buf = BUF_INIT(0);
    buf_adds(&buf, "");
    ck_assert(!buf.overflow);
    buf_addc(&buf, 'x');
    ck_assert(buf.overflow);
    ck_assert_str_eq(buf_str(&buf), "");
    buf_free(&buf);
}
END_TEST

START_TEST(formatted_text_may_be_long) {
    struct buf buf = BUF_INIT(5000);
    for (int width = 250; width < 265; width++) { /* around the buffer on the stack */
        buf_clear(&buf);
        buf_addf(&buf, "%*d|", width, 1);
        ck_assert_uint_eq(buf.len, (size_t)width + 1);
        ck_assert_str_eq(buf_str(&buf) + width - 1, "1|");
    }
    buf_addf(&buf, "%*d", 4990, 1);
    ck_assert(buf.overflow);
    ck_assert_uint_eq(buf.len, 265);
    buf_free(&buf);
}
END_TEST

START_TEST(taking_hands_over_and_leaves_an_empty_buffer_with_its_maximum) {
    struct buf buf = BUF_INIT(10);
    buf_adds(&buf, "hello");
    char *taken = buf_take(&buf);
    ck_assert_str_eq(taken, "hello");
    free(taken);
    ck_assert_uint_eq(buf.len, 0);
    buf_adds(&buf, "0123456789");
    ck_assert(!buf.overflow);
    buf_addc(&buf, 'x');
    ck_assert(buf.overflow);
    buf_free(&buf);
    ck_assert_uint_eq(buf.max, 10);
    ck_assert(!buf.overflow);
    ck_assert_ptr_null(buf.data);
}
END_TEST

START_TEST(clearing_keeps_the_memory) {
    struct buf buf = BUF_INIT(1000);
    buf_adds(&buf, "some text");
    char *before = buf.data;
    buf_clear(&buf);
    ck_assert_ptr_eq(buf.data, before);
    ck_assert_str_eq(buf_str(&buf), "");
    buf_free(&buf);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("buf");
    TCase *tests = tcase_create("buf");
    tcase_add_test(tests, empty_reads_as_empty_text);
    tcase_add_test(tests, every_way_of_adding_appends);
    tcase_add_loop_test(tests, integers_are_decimal, 0, sizeof integers / sizeof integers[0]);
    tcase_add_test(tests, grows_byte_by_byte_to_the_maximum_and_no_further);
    tcase_add_test(tests, room_made_before_is_no_content_and_bounded);
    tcase_add_test(tests, what_does_not_fit_is_dropped_whole_with_all_that_follows);
    tcase_add_test(tests, a_maximum_of_nothing_holds_nothing);
    tcase_add_test(tests, formatted_text_may_be_long);
    tcase_add_test(tests, taking_hands_over_and_leaves_an_empty_buffer_with_its_maximum);
    tcase_add_test(tests, clearing_keeps_the_memory);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
