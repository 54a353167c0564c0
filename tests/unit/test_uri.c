/* Request targets: every spelling of a path is one path or an error; parameters are decoded once. */
#include "http/uri.h"

#include <stdio.h>

#include "unit.h"

static const struct {
    const char *target, *path, *query;
} good[] = {
    {"/", "/", ""},
    {"/check", "/check", ""},
    {"/check/", "/check", ""},
    {"/check//", "/check", ""},
    {"//check", "/check", ""},
    {"///", "/", ""},
    {"/./check", "/check", ""},
    {"/check/.", "/check", ""},
    {"/x/../check", "/check", ""},
    {"/check/x/..", "/check", ""},
    {"/check/x/../", "/check", ""},
    {"/a/..", "/", ""},
    {"/a/b/../../c", "/c", ""},
    {"//a//..//b", "/b", ""},
    {"/a/./././b", "/a/b", ""},
    {"/%63heck", "/check", ""},
    {"/%63%68%65%63%6b", "/check", ""},
    {"/%2fcheck", "/check", ""},
    {"/a%2Fb", "/a/b", ""},
    {"/%2e/check", "/check", ""},
    {"/x/%2e%2E/check", "/check", ""},
    {"/x/.%2e/check", "/check", ""},
    {"/x%2f..%2fcheck", "/check", ""},
    {"/CHECK", "/CHECK", ""}, /* case matters */
    {"/check;a=1", "/check;a=1", ""},
    {"/check%3Fx", "/check?x", ""},
    {"/check%23x", "/check#x", ""},
    {"/check?x", "/check", "x"},
    {"/check?", "/check", ""},
    {"/check/?a=/../b", "/check", "a=/../b"},
    {"/check??x", "/check", "?x"},
    {"/%2563heck", "/%63heck", ""}, /* decoded once, not twice */
    {"/%252e%252e/x", "/%2e%2e/x", ""},
    {"/...", "/...", ""},
    {"/.hidden/..a/a..", "/.hidden/..a/a..", ""},
    {"/a+b", "/a+b", ""},
    {"/a%20b", "/a b", ""},
    {"/a\\..\\b", "/a\\..\\b", ""},
    {"/\xc3\xa9", "/\xc3\xa9", ""},
    {"/%c3%a9", "/\xc3\xa9", ""},
    {"/%ff", "/\xff", ""},
    {"/*", "/*", ""},
    {"/%2A", "/*", ""},
    {"*", "*", ""},
};

START_TEST(paths_have_one_spelling) {
    struct uri uri;
    struct err err = ERR_INIT;
    ck_assert_msg(uri_parse(&uri, good[_i].target, strlen(good[_i].target), &err) == 0, "%s: %s",
                  good[_i].target, err.text);
    CHECK_TEXT(uri.path, uri.path_len, good[_i].path);
    ck_assert_str_eq(uri.path, good[_i].path);
    ck_assert_str_eq(uri.raw_query, good[_i].query);
    CHECK_TEXT(good[_i].target, strcspn(good[_i].target, "?"), uri.raw_path);
    ck_assert_ptr_null(uri.authority);
    ck_assert_str_eq(err.text, "");
    uri_free(&uri);
}
END_TEST

static const struct {
    const char *target, *authority, *path, *query;
} absolute[] = {
    {"http://host/check", "host", "/check", ""},
    {"HTTP://host:80//check/?a=1", "host:80", "/check", "a=1"},
    {"https://[::1]:8443/x/../check", "[::1]:8443", "/check", ""},
    {"http://host", "host", "/", ""},
    {"http://host?x=1", "host", "/", "x=1"},
    {"http://host/", "host", "/", ""},
    {"http://user@host/%63heck", "user@host", "/check", ""},
};

START_TEST(absolute_targets_are_the_same_paths) {
    struct uri uri;
    struct err err = ERR_INIT;
    ck_assert_msg(uri_parse(&uri, absolute[_i].target, strlen(absolute[_i].target), &err) == 0, "%s",
                  err.text);
    ck_assert_str_eq(uri.authority, absolute[_i].authority);
    ck_assert_str_eq(uri.path, absolute[_i].path);
    ck_assert_uint_eq(uri.path_len, strlen(absolute[_i].path));
    ck_assert_str_eq(uri.raw_query, absolute[_i].query);
    uri_free(&uri);
}
END_TEST

static const struct {
    const char *target, *words;
} bad[] = {
    {"", "empty"},
    {"check", "must begin with '/'"},
    {"host:443", "must begin with '/'"},
    {"?x", "must begin with '/'"},
    {"*?x", "must begin with '/'"},
    {"**", "must begin with '/'"},
    {"ftp://host/", "must begin with '/'"},
    {"http:/check", "must begin with '/'"},
    {"http://", "names no host"},
    {"http:///check", "names no host"},
    {"https://?x", "names no host"},
    {"/a#b", "'#'"},
    {"/a?b#c", "'#'"},
    {"/a b", "0x20"},
    {"/a?b c", "0x20"},
    {"/a\tb", "0x09"},
    {"/a?\x01", "0x01"},
    {"/a\x7f", "0x7f"},
    {"/%", "\"%\" in the path"},
    {"/%4", "\"%4\" in the path"},
    {"/%4g", "\"%4g\" in the path"},
    {"/%g4x", "\"%g4\" in the path"},
    {"/%%41", "in the path"},
    {"/% 1", "0x20"},
    {"/%u0041", "in the path"},
    {"/%00", "control byte 0x00"},
    {"/check%00.txt", "control byte 0x00"},
    {"/a%0d%0aX: y", "0x20"},
    {"/a%0d%0aX:y", "control byte 0x0d"},
    {"/%7F", "control byte 0x7f"},
    {"/..", "climbs above the root"},
    {"/../check", "climbs above the root"},
    {"/a/../../check", "climbs above the root"},
    {"/./..", "climbs above the root"},
    {"/%2e%2e/check", "climbs above the root"},
    {"/..%2fcheck", "climbs above the root"},
    {"//../check", "climbs above the root"},
    {"http://host/../x", "climbs above the root"},
    {"/x?a=%", "\"%\" in the parameters"},
    {"/x?a=%zz", "\"%zz\" in the parameters"},
    {"/x?%4=b", "in the parameters"},
    {"/x?a=1&b=%2", "in the parameters"},
    {"/x?a=%4&1", "in the parameters"}, /* an encoding never reaches across '&' */
};

START_TEST(bad_targets_are_refused_in_words) {
    struct uri uri;
    struct err err = ERR_INIT;
    ck_assert_msg(uri_parse(&uri, bad[_i].target, strlen(bad[_i].target), &err) == -1, "%s passed",
                  bad[_i].target);
    CHECK_CONTAINS(err.text, bad[_i].words);
    uri_free(&uri);
}
END_TEST

START_TEST(nul_bytes_and_lengths) {
    struct uri uri;
    ck_assert_int_eq(uri_parse(&uri, "/a\0b", 4, NULL), -1);
    uri_free(&uri);
    ck_assert_int_eq(uri_parse(&uri, "/abc?x=1", 3, NULL), 0);
    ck_assert_str_eq(uri.path, "/ab");
    ck_assert_uint_eq(uri.param_count, 0);
    uri_free(&uri);
    ck_assert_int_eq(uri_parse(&uri, "/%41", 3, NULL), -1);
    uri_free(&uri);
}
END_TEST

/* Written as name=value; "-" in place of '=' where there is none. */
static const struct {
    const char *query, *params;
} queries[] = {
    {"", ""},
    {"&", ""},
    {"&&&", ""},
    {"a=1", "[a=1]"},
    {"a=1&b=2", "[a=1][b=2]"},
    {"a=1&&b=2&", "[a=1][b=2]"},
    {"a", "[a-]"},
    {"a=", "[a=]"},
    {"=1", "[=1]"},
    {"=", "[=]"},
    {"a=b=c", "[a=b=c]"},
    {"a=1&a=2", "[a=1][a=2]"},
    {"a=b+c", "[a=b c]"},
    {"a+b=c", "[a b=c]"},
    {"a=%2B", "[a=+]"},
    {"a=b%20c", "[a=b c]"},
    {"a=1;b=2", "[a=1;b=2]"},
    {"a=%26b%3d1", "[a=&b=1]"},
    {"%61=%62", "[a=b]"},
    {"a%3Db=c", "[a=b=c]"},
    {"a=%2541", "[a=%41]"},
    {"a=\xff%fe", "[a=\xff\xfe]"},
    {"key=%25s%25n&x=%0d%0aFLUSHALL", "[key=%s%n][x=\r\nFLUSHALL]"},
    {"a[]=1", "[a[]=1]"},
    {"a?b=1", "[a?b=1]"},
};

static void check_params(const struct uri *uri, const char *expected) {
    char seen[256] = "";
    for (size_t i = 0; i < uri->param_count; i++) {
        const struct uri_param *param = &uri->params[i];
        size_t used = strlen(seen);
        snprintf(seen + used, sizeof seen - used, "[%s%c%s]", param->name, param->has_value ? '=' : '-',
                 param->value);
        ck_assert_uint_eq(strlen(param->name), param->name_len);
        ck_assert_uint_eq(strlen(param->value), param->value_len);
    }
    ck_assert_str_eq(seen, expected);
}

START_TEST(parameters_of_a_query) {
    struct uri uri;
    struct err err = ERR_INIT;
    char target[256];
    snprintf(target, sizeof target, "/x?%s", queries[_i].query);
    ck_assert_msg(uri_parse(&uri, target, strlen(target), &err) == 0, "%s: %s", target, err.text);
    ck_assert_str_eq(uri.raw_query, queries[_i].query);
    check_params(&uri, queries[_i].params);
    uri_free(&uri);
}
END_TEST

START_TEST(parameters_of_a_form) {
    struct uri uri;
    struct err err = ERR_INIT;
    ck_assert_int_eq(uri_parse_form(&uri, queries[_i].query, strlen(queries[_i].query), &err), 0);
    check_params(&uri, queries[_i].params);
    ck_assert_str_eq(uri.path, "");
    ck_assert_str_eq(uri.raw_query, "");
    ck_assert_str_eq(uri.raw_path, "");
    uri_free(&uri);
}
END_TEST

START_TEST(bad_forms_are_refused) {
    struct uri uri;
    struct err err = ERR_INIT;
    ck_assert_int_eq(uri_parse_form(&uri, "a=%g0", 5, &err), -1);
    CHECK_CONTAINS(err.text, "\"%g0\"");
    uri_free(&uri);
    ck_assert_int_eq(uri_parse_form(&uri, "", 0, &err), 0);
    ck_assert_uint_eq(uri.param_count, 0);
    uri_free(&uri);
}
END_TEST

START_TEST(nul_in_a_value_keeps_its_length) {
    struct uri uri;
    static const char target[] = "/x?a=1%00z&b%00=2";
    ck_assert_int_eq(uri_parse(&uri, target, sizeof target - 1, NULL), 0);
    ck_assert_uint_eq(uri.params[0].value_len, 3);
    ck_assert_mem_eq(uri.params[0].value, "1\0z", 4);
    ck_assert_uint_eq(uri.params[1].name_len, 2);
    ck_assert_ptr_null(uri_param(&uri, "b", NULL));
    uri_free(&uri);
}
END_TEST

START_TEST(parameters_are_found_by_name_and_counted) {
    struct uri uri;
    size_t count = 99;
    static const char target[] = "/x?key=first&cost=2&key=second&Key=other&k=1&key";
    ck_assert_int_eq(uri_parse(&uri, target, sizeof target - 1, NULL), 0);
    ck_assert_str_eq(uri_param(&uri, "key", &count)->value, "first");
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(uri_param(&uri, "cost", NULL)->value, "2");
    ck_assert_ptr_null(uri_param(&uri, "ke", &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(uri_param(&uri, "keys", NULL));
    uri_free(&uri);
}
END_TEST

START_TEST(only_so_many_parameters) {
    char target[URI_PARAMS_MAX * 4 + 16] = "/x?";
    for (int i = 0; i < URI_PARAMS_MAX; i++)
        strcat(target, "&a=1");
    struct uri uri;
    struct err err = ERR_INIT;
    ck_assert_int_eq(uri_parse(&uri, target, strlen(target), &err), 0);
    ck_assert_uint_eq(uri.param_count, URI_PARAMS_MAX);
    uri_free(&uri);
    strcat(target, "&b");
    ck_assert_int_eq(uri_parse(&uri, target, strlen(target), &err), -1);
    CHECK_CONTAINS(err.text, "65 parameters; at most 64");
    uri_free(&uri);
}
END_TEST

START_TEST(freeing_twice_is_harmless) {
    struct uri uri;
    ck_assert_int_eq(uri_parse(&uri, "/x?a=1", 6, NULL), 0);
    uri_free(&uri);
    uri_free(&uri);
    ck_assert_str_eq(uri.path, "");
    ck_assert_uint_eq(uri.param_count, 0);
}
END_TEST

START_TEST(long_targets_are_taken_whole) {
    enum { LENGTH = 100000 };
    char *target = malloc(LENGTH + 1);
    for (int i = 0; i < LENGTH; i += 4)
        memcpy(target + i, i < LENGTH / 2 ? "/abc" : "/../", 4);
    struct uri uri;
    struct err err = ERR_INIT;
    ck_assert_msg(uri_parse(&uri, target, LENGTH, &err) == 0, "%s", err.text);
    ck_assert_str_eq(uri.path, "/");
    uri_free(&uri);
    memset(target, '/', LENGTH);
    target[LENGTH - 1] = 'x';
    ck_assert_int_eq(uri_parse(&uri, target, LENGTH, &err), 0);
    ck_assert_str_eq(uri.path, "/x");
    uri_free(&uri);
    free(target);
}
END_TEST

/* Every pair of bytes behind "/a", in a block of its own size: whatever passes is canonical, and so its own
 * spelling. */
START_TEST(what_passes_is_canonical) {
    int passed = 0;
    for (int pair = 0; pair < 65536; pair++) {
        char *target = malloc(8);
        memcpy(target, (char[]){'/', 'a', (char)(pair >> 8), (char)(pair & 255), '.', '%', '2', 'e'}, 8);
        struct uri uri;
        if (uri_parse(&uri, target, 8, NULL) == 0) {
            passed++;
            if (uri.path[0] != '/' || strstr(uri.path, "//") || strstr(uri.path, "/./") ||
                strstr(uri.path, "/../") || (uri.path_len > 1 && uri.path[uri.path_len - 1] == '/') ||
                strlen(uri.path) != uri.path_len) {
                ck_abort_msg("%04x gave %s", (unsigned)pair, uri.path);
            }
        }
        uri_free(&uri);
        free(target);
    }
    ck_assert_int_gt(passed, 40000);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("uri");
    TCase *tests = tcase_create("uri");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, paths_have_one_spelling, 0, sizeof good / sizeof good[0]);
    tcase_add_loop_test(tests, absolute_targets_are_the_same_paths, 0, sizeof absolute / sizeof absolute[0]);
    tcase_add_loop_test(tests, bad_targets_are_refused_in_words, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(tests, nul_bytes_and_lengths);
    tcase_add_loop_test(tests, parameters_of_a_query, 0, sizeof queries / sizeof queries[0]);
    tcase_add_loop_test(tests, parameters_of_a_form, 0, sizeof queries / sizeof queries[0]);
    tcase_add_test(tests, bad_forms_are_refused);
    tcase_add_test(tests, nul_in_a_value_keeps_its_length);
    tcase_add_test(tests, parameters_are_found_by_name_and_counted);
    tcase_add_test(tests, only_so_many_parameters);
    tcase_add_test(tests, freeing_twice_is_harmless);
    tcase_add_test(tests, long_targets_are_taken_whole);
    tcase_add_test(tests, what_passes_is_canonical);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
