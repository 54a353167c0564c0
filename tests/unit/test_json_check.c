/* The JSON checker: what passes, what is refused and where, and that a hostile megabyte costs little. */
#include "config/json_check.h"

#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "unit.h"

enum { HOSTILE_LEN = 1024 * 1024, HOSTILE_MS_MAX = 3000 };

static const char *const good[] = {
    "{}",
    "[]",
    "0",
    "-0",
    "5",
    "\"x\"",
    "null",
    "true",
    "false",
    "\"\"",
    " \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
    "{\"a\":{\"b\":[{\"c\":null}]},\"b\":1}",
    "{\"a\":1,\"A\":2,\"a \":3,\"\":4}",
    "{\"a\":{\"x\":1},\"b\":{\"x\":1},\"x\":1}", /* the same name in different objects */
    "[{\"a\":1},{\"a\":1}]",
    "{\"a\":\"a\",\"b\":\"a\"}",
    "1.5",
    "-1.5e10",
    "1E+2",
    "1e-2",
    "0.0",
    "0e0",
    "10",
    "1e400",
    "123456789012345678901234567890",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\uFFFF\\uabCD\"",
    "\"\\ud83d\\ude00\"",
    "\"\\uDBFF\\uDFFF\"",
    "\"\xf0\x9f\x98\x80 \xc3\xa9 \x7f\"",
    "\"\xed\x9f\xbf\xee\x80\x80\"",
    "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", /* 16 levels */
    "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]",
};

START_TEST(json_passes) {
    struct err err = ERR_INIT;
    ck_assert_msg(json_check(good[_i], strlen(good[_i]), &err) == 0, "%s: %s", good[_i], err.text);
    ck_assert_str_eq(err.text, "");
}
END_TEST

/* `at`: byte offset of the fault. */
static const struct {
    const char *text;
    int at;
    const char *words;
} bad[] = {
    {"", 0, "expected a JSON value, found the end of the text"},
    {"   ", 3, "end of the text"},
    {"\xef\xbb\xbf{}", 0, "byte order mark"},
    {"{\"capacity\":5}x", 14, "nothing behind the value, found 'x'"},
    {"{\"capacity\":5}{\"capacity\":6}", 14, "nothing behind"},
    {"{\"capacity\":5}}", 14, "nothing behind"},
    {"1 2", 2, "nothing behind"},
    {"{\"capacity\":007}", 12, "begin with a zero"},
    {"-01", 1, "begin with a zero"},
    {"{\"capacity\":5.}", 14, "a digit behind the decimal point"},
    {"-.5", 1, "a digit"},
    {".5", 0, "a JSON value"},
    {"+1", 0, "a JSON value, found '+'"},
    {"-", 1, "a digit, found the end"},
    {"1e", 2, "exponent"},
    {"1e+", 3, "exponent"},
    {"0x10", 1, "nothing behind"},
    {"NaN", 0, "found 'N'"},
    {"Infinity", 0, "found 'I'"},
    {"-Infinity", 1, "a digit, found 'I'"},
    {"nan", 0, "a JSON value"},
    {"True", 0, "a JSON value"},
    {"tru", 0, "a JSON value"},
    {"nullx", 4, "nothing behind"},
    {"'a'", 0, "a JSON value"},
    {"[1,]", 3, "a JSON value, found ']'"},
    {"[,1]", 1, "a JSON value"},
    {"[1 2]", 3, "',' or ']'"},
    {"[1", 2, "',' or ']', found the end"},
    {"[", 1, "a JSON value"},
    {"[}", 1, "a JSON value"},
    {"]", 0, "a JSON value"},
    {"{", 1, "a member name"},
    {"{a:1}", 1, "a member name in quotes, found 'a'"},
    {"{1:1}", 1, "a member name"},
    {"{\"a\"}", 4, "':'"},
    {"{\"a\":}", 5, "a JSON value"},
    {"{\"a\":1,}", 7, "a member name"},
    {"{\"a\":1 \"b\":2}", 7, "',' or '}'"},
    {"{\"a\":1]", 6, "',' or '}'"},
    {"{\"a\":1", 6, "',' or '}', found the end"},
    {"// x\n1", 0, "a JSON value"},
    {"[1,/**/2]", 3, "a JSON value"},
    {"\v1", 0, "found byte 0x0b"},
    {"\xc2\xa0"
     "1",
     0, "found byte 0xc2"}, /* a space that JSON does not know */
    {"\"abc", 4, "closing quote"},
    {"\"a\nb\"", 2, "control character"},
    {"\"a\tb\"", 2, "control character"},
    {"\"\x1f\"", 1, "control character"},
    {"\"\\x\"", 2, "behind a backslash"},
    {"\"\\", 2, "behind a backslash"},
    {"\"\\'\"", 2, "behind a backslash"},
    {"\"\\u12\"", 1, "four hexadecimal digits"},
    {"\"\\u12g4\"", 1, "four hexadecimal digits"},
    {"\"\\u", 1, "four hexadecimal digits"},
    {"\"\\u0000\"", 1, "\\u0000"},
    {"{\"capacity\\u0000z\":5}", 10, "\\u0000"},
    {"\"\\ud800\"", 1, "surrogate"},
    {"\"\\udc00\"", 1, "surrogate"},
    {"\"\\ude00\\ud83d\"", 1, "surrogate"},
    {"\"\\ud83dx\"", 1, "surrogate"},
    {"\"\\ud83d\\n\"", 1, "surrogate"},
    {"\"\\ud83d\\ud83d\"", 1, "surrogate"},
    {"\"\\ud83d\\u0041\"", 1, "surrogate"},
    {"\"\\ud83d\\ude0", 1, "surrogate"},
    {"\"a\x80\"", 2, "UTF-8"},
    {"\"\xff\"", 1, "UTF-8"},
    {"\"\xc0\xaf\"", 1, "UTF-8"},
    {"\"\xe0\x80\xaf\"", 1, "UTF-8"},
    {"\"\xed\xa0\x80\"", 1, "UTF-8"},
    {"\"\xf4\x90\x80\x80\"", 1, "UTF-8"},
    {"\"\xc3\"", 1, "UTF-8"},
    {"\"\xe2\x82", 1, "UTF-8"},
    {"{\"\xff\":1}", 2, "UTF-8"},
    {"{\"capacity\":5,\"capacity\":500}", 14, "\"capacity\" appears twice"},
    {"{\"capacity\":500,\"x\":1,\"capacity\":\"5\"}", 22, "\"capacity\" appears twice"},
    {"{\"a\":1,\"\\u0061\":2}", 7, "\"a\" appears twice"},
    {"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", 18, "appears twice"},
    {"{\"\":1,\"\":2}", 6, "\"\" appears twice"},
    {"{\"a\":1,\"b\":2,\"b\":3,\"a\":4}", 13, "\"b\" appears twice"}, /* the first in the document */
    {"{\"x\":{\"a\":1,\"a\":2}}", 12, "\"a\" appears twice"},
    {"{\"a\":{\"b\":1},\"c\":{\"d\":1},\"a\":1}", 25, "\"a\" appears twice"}, /* after inner objects */
    {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", 16, "16 levels"},
    {"[{\"a\":[{\"a\":[{\"a\":[{\"a\":[{\"a\":[{\"a\":[{\"a\":[{\"a\":[1]}]}]}]}]}]}]}]}]", 48, "16 levels"},
};

START_TEST(what_is_not_json_is_refused_with_its_place) {
    struct err err = ERR_INIT;
    ck_assert_msg(json_check(bad[_i].text, strlen(bad[_i].text), &err) == -1, "%s passed", bad[_i].text);
    CHECK_CONTAINS(err.text, bad[_i].words);
    char place[64];
    snprintf(place, sizeof place, "(byte offset %d)", bad[_i].at);
    CHECK_CONTAINS(err.text, place);
}
END_TEST

START_TEST(line_and_column_count_characters) {
    static const char text[] = "{\n  \"\xc3\xa9\xf0\x9f\x98\x80\": x\n}";
    struct err err = ERR_INIT;
    ck_assert_int_eq(json_check(text, sizeof text - 1, &err), -1);
    ck_assert_str_eq(err.text, "expected a JSON value, found 'x' at line 2, column 9 (byte offset 14)");
}
END_TEST

START_TEST(nul_bytes_end_nothing) {
    struct err err = ERR_INIT;
    ck_assert_int_eq(json_check("{\"capacity\":5}\0{}", 17, &err), -1);
    CHECK_CONTAINS(err.text, "found byte 0x00 at line 1, column 15 (byte offset 14)");
    ck_assert_int_eq(json_check("\"a\0b\"", 5, &err), -1);
    CHECK_CONTAINS(err.text, "control character");
    ck_assert_int_eq(json_check("12\0", 3, &err), -1);
}
END_TEST

START_TEST(the_length_bounds_what_is_read) {
    struct err err = ERR_INIT;
    ck_assert_int_eq(json_check("truely", 4, &err), 0);
    ck_assert_int_eq(json_check("true", 3, &err), -1);
    ck_assert_int_eq(json_check("12", 1, &err), 0);
    ck_assert_int_eq(json_check("\"\xe2\x82\xac\"", 3, &err), -1);
}
END_TEST

/* Every beginning and every single changed byte of a document: refused or not, but never read beyond its end
 * (each lies in a block of its own size, for the sanitizer to see). */
START_TEST(damaged_documents_are_survived) {
    static const char text[] =
        "{\"a\\u00e9\":[1.5e-3,-0,true,null,\"\\ud83d\\ude00\xc3\xa9\"],\"b\":{\"c\":{}},\"d\":[]}";
    size_t whole = sizeof text - 1;
    int passed = 0;
    for (size_t len = 0; len < whole; len++) {
        char *copy = malloc(len + (len == 0));
        memcpy(copy, text, len);
        ck_assert_int_eq(json_check(copy, len, NULL), -1);
        free(copy);
    }
    for (size_t at = 0; at < whole; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char *copy = malloc(whole);
            memcpy(copy, text, whole);
            copy[at] = (char)byte;
            passed += json_check(copy, whole, NULL) == 0;
            free(copy);
        }
    }
    ck_assert_int_gt(passed, (int)whole);
}
END_TEST

static struct buf repeat(const char *begin, const char *piece, const char *end) {
    struct buf buf = BUF_INIT(HOSTILE_LEN);
    buf_adds(&buf, begin);
    while (buf.len + strlen(piece) + strlen(end) <= HOSTILE_LEN)
        buf_adds(&buf, piece);
    buf_adds(&buf, end);
    ck_assert(!buf.overflow);
    return buf;
}

static int64_t cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Checks, frees, and bounds the time by far less than anything quadratic takes. */
static void check_hostile(struct buf *buf, int expected, const char *words) {
    struct err err = ERR_INIT;
    int64_t before = cpu_ms();
    ck_assert_int_eq(json_check(buf->data, buf->len, &err), expected);
    int64_t took = cpu_ms() - before;
    ck_assert_msg(took < HOSTILE_MS_MAX, "took %lld ms", (long long)took);
    CHECK_CONTAINS(err.text, words);
    buf_free(buf);
}

START_TEST(deep_nesting_is_cheap) {
    struct buf arrays = repeat("", "[", ""), objects = repeat("", "{\"a\":", ""),
               pairs = repeat("", "[[],", "");
    check_hostile(&arrays, -1, "16 levels");
    check_hostile(&objects, -1, "16 levels");
    check_hostile(&pairs, -1, "16 levels");
}
END_TEST

/* Members with distinct names: `prefix` decides how much of two names has to be compared. */
static struct buf many_members(const char *prefix, const char *last) {
    struct buf buf = BUF_INIT(HOSTILE_LEN);
    buf_addc(&buf, '{');
    for (int i = 0; buf.len + strlen(prefix) + 64 < HOSTILE_LEN; i++)
        buf_addf(&buf, "\"%s%x\":0,", prefix, i);
    buf_addf(&buf, "\"%s\":0}", last);
    ck_assert(!buf.overflow);
    return buf;
}

START_TEST(very_many_members_are_cheap) {
    char prefix[1001];
    memset(prefix, 'p', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    struct buf distinct = many_members("", "last"), alike = many_members(prefix, "last"),
               twice = many_members("", "0");
    struct buf equal = repeat("{\"a\":0", ",\"a\":0", "}");
    check_hostile(&distinct, 0, "");
    check_hostile(&alike, 0, "");
    check_hostile(&twice, -1, "\"0\" appears twice");
    check_hostile(&equal, -1, "\"a\" appears twice in one object at line 1, column 8 (byte offset 7)");
}
END_TEST

START_TEST(very_many_objects_are_cheap) {
    struct buf objects = repeat("[{}", ",{\"a\":{},\"b\":0}", "]");
    struct buf inner = repeat("{\"z\":[0", ",{\"z\":0}", "]}");
    check_hostile(&objects, 0, "");
    check_hostile(&inner, 0, "");
}
END_TEST

START_TEST(very_long_texts_are_cheap) {
    struct buf string = repeat("\"", "\\u0041", "\""), name = repeat("{\"", "x", "\":0,\"y\":0}"),
               number = repeat("1", "0", "");
    struct buf lines = repeat("", "\n", "x");
    check_hostile(&string, 0, "");
    check_hostile(&name, 0, "");
    check_hostile(&number, 0, "");
    check_hostile(&lines, -1, "line 1048576, column 1");
}
END_TEST

START_TEST(long_names_are_cut_in_words_between_characters) {
    struct buf buf = BUF_INIT(10000);
    struct buf name = BUF_INIT(4000);
    buf_addc(&name, 'x');
    while (name.len < 3000)
        buf_adds(&name, "\xe2\x82\xac");
    buf_addf(&buf, "{\"%s\":1,\"%s\":2}", buf_str(&name), buf_str(&name));
    struct err err = ERR_INIT;
    ck_assert_int_eq(json_check(buf.data, buf.len, &err), -1);
    CHECK_CONTAINS(err.text, "\xe2\x82\xac\"... appears twice");
    ck_assert_uint_lt(strlen(err.text), 250);
    buf_free(&buf);
    buf_free(&name);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("json_check");
    TCase *tests = tcase_create("json_check");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, json_passes, 0, sizeof good / sizeof good[0]);
    tcase_add_loop_test(tests, what_is_not_json_is_refused_with_its_place, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(tests, line_and_column_count_characters);
    tcase_add_test(tests, nul_bytes_end_nothing);
    tcase_add_test(tests, the_length_bounds_what_is_read);
    tcase_add_test(tests, damaged_documents_are_survived);
    tcase_add_test(tests, deep_nesting_is_cheap);
    tcase_add_test(tests, very_many_members_are_cheap);
    tcase_add_test(tests, very_many_objects_are_cheap);
    tcase_add_test(tests, very_long_texts_are_cheap);
    tcase_add_test(tests, long_names_are_cut_in_words_between_characters);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
