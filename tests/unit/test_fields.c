/* Readers of header fields: what a guard and a precondition rest on. */
#include "unit/unit.h"

#include "http/fields.h"

static const struct {
    const char *text;
    bool valid;
    const char *name;
    unsigned port;
} hosts[] = {
    {"localhost", true, "localhost", 0},
    {"localhost:8080", true, "localhost", 8080},
    {"LOCALHOST:1", true, "LOCALHOST", 1},
    {"127.0.0.1:65535", true, "127.0.0.1", 65535},
    {"[::1]", true, "::1", 0},
    {"[::1]:80", true, "::1", 80},
    {"a.example", true, "a.example", 0},
    {"", false, NULL, 0},
    {":80", false, NULL, 0},
    {"localhost:", false, NULL, 0},
    {"localhost:0", false, NULL, 0},
    {"localhost:65536", false, NULL, 0},
    {"localhost:+80", false, NULL, 0},
    {"localhost:80x", false, NULL, 0},
    {"localhost:80:80", false, NULL, 0},
    {"localhost ", false, NULL, 0},
    {"user@localhost", false, NULL, 0},
    {"localhost/", false, NULL, 0},
    {"localhost,evil.example", false, NULL, 0},
    {"::1", false, NULL, 0},
    {"[]", false, NULL, 0},
    {"[::1", false, NULL, 0},
    {"[localhost]", false, NULL, 0},
    {"[::1]x", false, NULL, 0},
    {"[1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111]", false, NULL, 0},
};

START_TEST(host_is_read) {
    struct field_host host;

    ck_assert_int_eq(field_host_read(hosts[_i].text, &host), hosts[_i].valid);
    if (!hosts[_i].valid) return;
    CHECK_TEXT(host.name, host.len, hosts[_i].name);
    ck_assert_uint_eq(host.port, hosts[_i].port);
}
END_TEST

static const struct {
    const char *host, *also;
    bool local;
} locals[] = {
    {"localhost:9", NULL, true},
    {"LocalHost", NULL, true},
    {"127.0.0.1", NULL, true},
    {"[::1]:8080", NULL, true},
    {"[0:0:0:0:0:0:0:1]", NULL, true},
    {"192.0.2.1", NULL, false},
    {"192.0.2.1:80", "192.0.2.1", true},
    {"[2001:DB8::1]", "2001:db8:0::1", true},
    {"[2001:db8::2]", "2001:db8::1", false},
    {"Box.example", "box.example", true},
    {"localhost.evil.example", NULL, false},
    {"evil-localhost", NULL, false},
    {"localhost.", NULL, false},
    {"127.0.0.2", NULL, false},
    {"127.1", NULL, false},
    {"evil.example", "127.0.0.1", false},
};

START_TEST(host_is_local) {
    struct field_host host;

    ck_assert(field_host_read(locals[_i].host, &host));
    ck_assert_int_eq(field_host_local(&host, locals[_i].also), locals[_i].local);
}
END_TEST

static const struct {
    const char *origin, *host;
    bool same;
} origins[] = {
    {"http://localhost:8080", "localhost:8080", true},
    {"HTTP://LOCALHOST:8080", "localhost:8080", true},
    {"http://localhost", "localhost:80", true},
    {"http://localhost:80", "localhost", true},
    {"https://a.example", "a.example", true},
    {"https://a.example", "a.example:443", true},
    {"https://a.example", "a.example:80", false},
    {"http://[::1]:8080", "[0::1]:8080", true},
    {"http://localhost:8081", "localhost:8080", false},
    {"http://evil.example:8080", "localhost:8080", false},
    {"http://localhost", "localhost:8080", false},
    {"http://localhost:8080/", "localhost:8080", false},
    {"http://localhost:8080.evil.example", "localhost:8080", false},
    {"http://user@localhost:8080", "localhost:8080", false},
    {"ftp://localhost:8080", "localhost:8080", false},
    {"localhost:8080", "localhost:8080", false},
    {"null", "localhost:8080", false},
    {"", "localhost:8080", false},
};

START_TEST(origin_is_same) {
    struct field_host host;

    ck_assert(field_host_read(origins[_i].host, &host));
    ck_assert_int_eq(field_origin_same(origins[_i].origin, &host), origins[_i].same);
}
END_TEST

START_TEST(bearer) {
    ck_assert_str_eq(field_bearer("Bearer abc"), "abc");
    ck_assert_str_eq(field_bearer("bearer  abc"), "abc");
    ck_assert_str_eq(field_bearer("Bearer"), "");
    ck_assert_str_eq(field_bearer("Bearer "), "");
    ck_assert_str_eq(field_bearer("Bearer abc "), "abc ");
    ck_assert_ptr_null(field_bearer("Basic abc"));
    ck_assert_ptr_null(field_bearer("Bearerabc"));
    ck_assert_ptr_null(field_bearer("abc"));
    ck_assert_ptr_null(field_bearer(""));
}
END_TEST

static const struct {
    const char *text;
    bool json;
} medias[] = {
    {"application/json", true},
    {"Application/JSON", true},
    {"application/json ", true},
    {"application/json;charset=utf-8", true},
    {"application/json; charset=\"UTF-8\"", true},
    {"application/json ; charset=UTF-8", true},
    {"application/json;charset=x", false},
    {"application/json; charset=utf-8; charset=latin1", false},
    {"application/json;", false},
    {"application/json5", false},
    {"application/jso", false},
    {"text/plain", false},
    {"text/plain; application/json", false},
    {"application/json, text/plain", false},
    {"application/x-www-form-urlencoded", false},
    {"", false},
};

START_TEST(media_type) {
    ck_assert_int_eq(field_media_is(medias[_i].text, "application/json"), medias[_i].json);
}
END_TEST

static const struct {
    const char *list;
    enum field_match strong, weak;
} tags[] = {
    {"\"7\"", FIELD_MATCH_YES, FIELD_MATCH_YES},
    {"W/\"7\"", FIELD_MATCH_NO, FIELD_MATCH_YES},
    {"*", FIELD_MATCH_ANY, FIELD_MATCH_ANY},
    {" * ", FIELD_MATCH_ANY, FIELD_MATCH_ANY},
    {"\"8\"", FIELD_MATCH_NO, FIELD_MATCH_NO},
    {"\"77\"", FIELD_MATCH_NO, FIELD_MATCH_NO},
    {"\"07\"", FIELD_MATCH_NO, FIELD_MATCH_NO},
    {"\"\"", FIELD_MATCH_NO, FIELD_MATCH_NO},
    {"\"0\"", FIELD_MATCH_NO, FIELD_MATCH_NO},
    {"\"6\", \"7\"", FIELD_MATCH_YES, FIELD_MATCH_YES},
    {"\"7\",\"8\"", FIELD_MATCH_YES, FIELD_MATCH_YES},
    {"\"a,b\" , W/\"7\"", FIELD_MATCH_NO, FIELD_MATCH_YES},
    {"7", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
    {"\"7", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
    {"w/\"7\"", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
    {"\"7\" \"8\"", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
    {"\"7\",", FIELD_MATCH_YES, FIELD_MATCH_YES},
    {",\"7\"", FIELD_MATCH_YES, FIELD_MATCH_YES},
    {" , \"6\",\t,, W/\"7\" ,", FIELD_MATCH_NO, FIELD_MATCH_YES},
    {",", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
    {"\"7\", 7", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
    {",*", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
    {"*, \"7\"", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
    {"", FIELD_MATCH_BAD, FIELD_MATCH_BAD},
};

START_TEST(entity_tags) {
    ck_assert_int_eq(field_tags(tags[_i].list, "\"7\"", true), tags[_i].strong);
    ck_assert_int_eq(field_tags(tags[_i].list, "\"7\"", false), tags[_i].weak);
}
END_TEST

static const struct {
    const char *text;
    size_t len;
    bool valid;
    int64_t value;
} wholes[] = {
    {"0", 1, true, 0},
    {"7", 1, true, 7},
    {"007", 3, true, 7},
    {"000", 3, true, 0},
    {"1000000000", 10, true, 1000000000},
    {"999999999999999999", 18, true, 999999999999999999},
    {"1000000000000000000", 19, false, 0},
    {"99999999999999999999999999", 26, false, 0},
    {"", 0, false, 0},
    {"0.5", 3, false, 0},
    {"1e2", 3, false, 0},
    {"0x10", 4, false, 0},
    {"+1", 2, false, 0},
    {"-5", 2, false, 0},
    {"-0.0", 4, false, 0},
    {" 1", 2, false, 0},
    {"1 ", 2, false, 0},
    {"1\0", 2, false, 0},
    {"\xef\xbc\x91", 3, false, 0}, /* a full-width digit one */
    {"nan", 3, false, 0},
    {"inf", 3, false, 0},
};

START_TEST(whole_numbers) {
    int64_t value = -1;

    ck_assert_int_eq(field_whole(wholes[_i].text, wholes[_i].len, &value), wholes[_i].valid);
    ck_assert_int_eq(value, wholes[_i].valid ? wholes[_i].value : -1);
}
END_TEST

#define ADD_LOOP(tcase, test, table) tcase_add_loop_test(tcase, test, 0, sizeof(table) / sizeof *(table))

int main(void) {
    Suite *suite = suite_create("fields");
    TCase *tcase = tcase_create("fields");

    ADD_LOOP(tcase, host_is_read, hosts);
    ADD_LOOP(tcase, host_is_local, locals);
    ADD_LOOP(tcase, origin_is_same, origins);
    ADD_LOOP(tcase, media_type, medias);
    ADD_LOOP(tcase, entity_tags, tags);
    ADD_LOOP(tcase, whole_numbers, wholes);
    tcase_add_test(tcase, bearer);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
