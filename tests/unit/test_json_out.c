/* The JSON writer: commas, escapes, repair of bad UTF-8, numbers. Its output must pass the checker. */
#include <stdio.h>

#include "base/json_out.h"
#include "base/utf8.h"
#include "config/json_check.h"
#include "unit.h"

START_TEST(levels_and_commas) {
    struct buf buf = BUF_INIT(1000);
    struct json_out json;
    json_begin(&json, &buf);
    json_object(&json, NULL);
    json_str(&json, "a", "x");
    json_array(&json, "list");
    json_int(&json, NULL, 1);
    json_object(&json, NULL);
    json_end(&json);
    json_array(&json, NULL);
    json_bool(&json, NULL, true);
    json_null(&json, NULL);
    json_end(&json);
    json_end(&json);
    json_bool(&json, "b", false);
    json_raw(&json, "raw", "[1,2]", 5);
    json_object(&json, "o");
    json_null(&json, "n");
    json_end(&json);
    json_end(&json);
    ck_assert_str_eq(
        buf_str(&buf),
        "{\"a\":\"x\",\"list\":[1,{},[true,null]],\"b\":false,\"raw\":[1,2],\"o\":{\"n\":null}}");
    ck_assert_int_eq(json.depth, 0);
    buf_free(&buf);
}
END_TEST

START_TEST(a_value_alone_is_a_document) {
    struct buf buf = BUF_INIT(100);
    struct json_out json;
    json_begin(&json, &buf);
    json_str(&json, NULL, "x");
    ck_assert_str_eq(buf_str(&buf), "\"x\"");
    buf_free(&buf);
}
END_TEST

START_TEST(as_deep_as_promised) {
    struct buf buf = BUF_INIT(1000);
    struct json_out json;
    json_begin(&json, &buf);
    for (int i = 0; i < JSON_OUT_DEPTH; i++)
        json_array(&json, NULL);
    for (int i = 0; i < JSON_OUT_DEPTH; i++)
        json_end(&json);
    ck_assert_str_eq(buf_str(&buf), "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]");
    buf_free(&buf);
}
END_TEST

#define BAD "\xef\xbf\xbd"

static const struct {
    const char *text, *json;
} texts[] = {
    {"", ""},
    {"plain text 123", "plain text 123"},
    {"\"\\/", "\\\"\\\\/"},
    {"\b\f\n\r\t", "\\b\\f\\n\\r\\t"},
    {"\x01\x1f\x7f", "\\u0001\\u001f\\u007f"},
    {"</script>", "\\u003c/script>"},
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7", "\\u2028\\u2029\xe2\x80\xa7"},
    {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0"}, /* C1 controls steer terminals */
    {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"}, /* on both sides of the surrogates */
    {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},                 /* the last code point */
    {"\x80", BAD},
    {"a\xff"
     "b\xfe",
     "a" BAD "b" BAD},
    {"\xc0\xaf", BAD BAD}, /* '/', overlong */
    {"\xc1\xbf", BAD BAD},
    {"\xe0\x9f\xbf", BAD BAD BAD}, /* overlong */
    {"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD},
    {"\xed\xa0\x80", BAD BAD BAD}, /* a surrogate */
    {"\xed\xbf\xbf", BAD BAD BAD},
    {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* above U+10FFFF */
    {"\xf5\x80\x80\x80", BAD BAD BAD BAD},
    {"\xc3", BAD}, /* cut off */
    {"\xe2\x82", BAD BAD},
    {"\xf0\x9f\x98", BAD BAD BAD},
    {"\xe2\x82"
     "A",
     BAD BAD "A"},
    {"\xe2\xe2\x82\xac", BAD "\xe2\x82\xac"},
    {"\xc3\xc3\xa9\"", BAD "\xc3\xa9\\\""},
};

START_TEST(text_is_escaped_and_repaired) {
    struct buf buf = BUF_INIT(1000);
    json_escape(&buf, texts[_i].text, strlen(texts[_i].text));
    ck_assert_uint_ge(buf.len, 2);
    ck_assert_int_eq(buf.data[0], '"');
    ck_assert_int_eq(buf.data[buf.len - 1], '"');
    CHECK_TEXT(buf.data + 1, buf.len - 2, texts[_i].json);
    struct err err = ERR_INIT;
    ck_assert_msg(json_check(buf.data, buf.len, &err) == 0, "%s", err.text);
    buf_free(&buf);
}
END_TEST

START_TEST(nul_in_bounded_text_is_escaped) {
    struct buf buf = BUF_INIT(100);
    struct json_out json;
    json_begin(&json, &buf);
    json_object(&json, NULL);
    json_strn(&json, "na\"me", "a\0b", 3);
    json_end(&json);
    ck_assert_str_eq(buf_str(&buf), "{\"na\\\"me\":\"a\\u0000b\"}");
    buf_free(&buf);
}
END_TEST

START_TEST(a_character_is_never_read_beyond_the_length) {
    struct buf buf = BUF_INIT(100);
    json_escape(&buf, "\xe2\x82\xac", 2);
    ck_assert_str_eq(buf_str(&buf), "\"" BAD BAD "\"");
    buf_free(&buf);
}
END_TEST

/* Any two bytes, between others: always JSON. */
START_TEST(every_pair_of_bytes_gives_valid_json) {
    struct buf buf = BUF_INIT(100);
    for (int pair = 0; pair < 65536; pair++) {
        const char text[] = {'x', (char)(pair >> 8), (char)(pair & 255), '\xac', 'y'};
        if (pair >> 8 == 0 || (pair & 255) == 0)
            continue; /* NUL is escaped, which the checker refuses on purpose */
        buf_clear(&buf);
        json_escape(&buf, text, sizeof text);
        struct err err = ERR_INIT;
        if (json_check(buf.data, buf.len, &err)) ck_abort_msg("%04x: %s", (unsigned)pair, err.text);
    }
    buf_free(&buf);
}
END_TEST

static const struct {
    int64_t micro;
    const char *json;
} decimals[] = {{0, "0"}, {1500000, "1.5"}, {10000000, "10"}, {1, "0.000001"}, {-2500000, "-2.5"}};

START_TEST(millionths_are_decimals) {
    struct buf buf = BUF_INIT(100);
    struct json_out json;
    json_begin(&json, &buf);
    json_micro(&json, NULL, decimals[_i].micro);
    ck_assert_str_eq(buf_str(&buf), decimals[_i].json);
    buf_free(&buf);
}
END_TEST

static const struct {
    int64_t us;
    const char *json;
} waits[] = {
    {0, "0"},
    {-5, "0"},
    {1, "0.001"},
    {999, "0.001"},
    {1000, "0.001"},
    {1001, "0.002"},
    {50000, "0.050"},
    {999001, "1.000"},
    {1000000, "1.000"},
    {1234000, "1.234"},
    {1234001, "1.235"},
    {59999999, "60.000"},
    {315360000000000, "315360000.000"},
    {INT64_MAX, "9223372036854.776"},
};

START_TEST(waits_are_seconds_rounded_up_to_the_millisecond) {
    struct buf buf = BUF_INIT(100);
    struct json_out json;
    json_begin(&json, &buf);
    json_seconds_ms(&json, NULL, waits[_i].us);
    ck_assert_str_eq(buf_str(&buf), waits[_i].json);
    buf_free(&buf);
}
END_TEST

START_TEST(code_points_and_bytes_belong_together) {
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        if (code == 0xd800) code = 0xe000;
        char bytes[UTF8_LEN_MAX];
        size_t len = utf8_put(code, bytes);
        size_t wanted = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        if (len != wanted || utf8_len(bytes, len) != len) ck_abort_msg("U+%04x", code);
        if (len > 1 && utf8_len(bytes, len - 1) != 0) ck_abort_msg("U+%04x cut off", code);
    }
    ck_assert_uint_eq(utf8_len("", 0), 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("json_out");
    TCase *tests = tcase_create("json_out");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, levels_and_commas);
    tcase_add_test(tests, a_value_alone_is_a_document);
    tcase_add_test(tests, as_deep_as_promised);
    tcase_add_loop_test(tests, text_is_escaped_and_repaired, 0, sizeof texts / sizeof texts[0]);
    tcase_add_test(tests, nul_in_bounded_text_is_escaped);
    tcase_add_test(tests, a_character_is_never_read_beyond_the_length);
    tcase_add_test(tests, every_pair_of_bytes_gives_valid_json);
    tcase_add_loop_test(tests, millionths_are_decimals, 0, sizeof decimals / sizeof decimals[0]);
    tcase_add_loop_test(tests, waits_are_seconds_rounded_up_to_the_millisecond, 0,
                        sizeof waits / sizeof waits[0]);
    tcase_add_test(tests, code_points_and_bytes_belong_together);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
