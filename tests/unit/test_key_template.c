/* Key templates and the encodings of keys: what is rendered, what is refused, and that no two clients share a
 * key. */
#include "limit/key_template.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "unit.h"

/* A request as a list of fields: "q:user=alice", "h:X-Key=secret". Twice the same name: ambiguous. */
struct fake {
    const char *fields[6];
};

static const char *look_up(const struct fake *fake, char kind, const char *name, size_t *len,
                           bool *ambiguous) {
    const char *found = NULL;
    size_t name_len = strlen(name);
    for (size_t i = 0; i < COUNT(fake->fields) && fake->fields[i]; i++) {
        const char *field = fake->fields[i];
        bool same = kind == 'h' ? strncasecmp(field + 2, name, name_len) == 0
                                : strncmp(field + 2, name, name_len) == 0;
        if (field[0] != kind || !same || field[2 + name_len] != '=') continue;
        if (found) *ambiguous = true;
        found = field + 3 + name_len;
    }
    if (found) *len = strlen(found);
    return found;
}

static const char *fake_query(const void *from, const char *name, size_t *len, bool *ambiguous) {
    return look_up(from, 'q', name, len, ambiguous);
}

static const char *fake_header(const void *from, const char *name, size_t *len, bool *ambiguous) {
    return look_up(from, 'h', name, len, ambiguous);
}

static struct request_facts facts_of(const struct fake *fake) {
    return (struct request_facts){.ip = "1.2.3.4",
                                  .method = "GET",
                                  .path = "/api/a b",
                                  .prefix = "/api",
                                  .policy = "default",
                                  .query = fake_query,
                                  .header = fake_header,
                                  .from = fake};
}

static struct key_template *parse(const char *text) {
    struct err err = ERR_INIT;
    struct key_template *tmpl = key_template_parse(text, strlen(text), &err);
    ck_assert_msg(tmpl != NULL, "%s: %s", text, err.text);
    return tmpl;
}

/* Renders `text` for the facts; `right` is K, or with `fails` a part of the refusal. */
static void expect(const char *text, const struct request_facts *facts, const char *right, bool fails) {
    struct key_template *tmpl = parse(text);
    struct buf key = BUF_INIT(KEY_TEXT_MAX);
    struct err err = ERR_INIT;
    int result = key_template_render(tmpl, facts, &key, &err);
    ck_assert_msg((result < 0) == fails, "%s gave \"%s\", \"%s\"", text, buf_str(&key), err.text);
    if (fails) {
        CHECK_CONTAINS(err.text, right);
    } else {
        ck_assert_str_eq(buf_str(&key), right);
        ck_assert_str_eq(err.text, "");
    }
    buf_free(&key);
    key_template_free(tmpl);
}

#define ABC_HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

START_TEST(renders) {
    static const struct {
        const char *tmpl, *key;
        struct fake fake;
    } cases[] = {
        {"global:api", "global:api", {{NULL}}},
        {"x", "x", {{NULL}}},
        {"ip:{ip}", "ip:1.2.3.4", {{NULL}}},
        {"{method}:{prefix}:{path}:{policy}", "GET:%2Fapi:%2Fapi%2Fa%20b:default", {{NULL}}},
        {"user:{query.user|ip}", "user:alice", {{"q:user=alice"}}},
        {"user:{query.user|ip}", "user:@ip:1.2.3.4", {{NULL}}},
        {"user:{query.user|ip}", "user:1.2.3.4", {{"q:user=1.2.3.4"}}},
        {"user:{query.user|ip}", "user:@ip:1.2.3.4", {{"q:user="}}},
        {"user:{query.user|ip}", "user:%40ip%3A1.2.3.4", {{"q:user=@ip:1.2.3.4"}}},
        {"{query.a|header.B|ip}", "@header.B:v", {{"h:b=v"}}},
        {"{query.a|header.B|ip}", "@ip:1.2.3.4", {{NULL}}},
        {"{query.a|query.b}", "first", {{"q:b=second", "q:a=first"}}},
        {"k:{header.x-api-key}", "k:abc", {{"h:X-API-Key=abc"}}},
        {"k:{query.A}", "k:big", {{"q:a=small", "q:A=big"}}},
        {"k:{hash:header.X-API-Key}", "k:" ABC_HASH, {{"h:X-API-Key=abc"}}},
        {"k:{query.u|hash:header.K}", "k:@hash:header.K:" ABC_HASH, {{"h:K=abc"}}},
        {"k:{hash:query.u|ip}", "k:@ip:1.2.3.4", {{NULL}}},
        {"{query.a}/{query.b}", "x/y", {{"q:a=x", "q:b=y"}}},
        {"é{query.a}é{query.b}", "éxéy", {{"q:a=x", "q:b=y"}}},
        {"{query.a}", "~A-z_0.9", {{"q:a=~A-z_0.9"}}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request_facts facts = facts_of(&cases[i].fake);
        expect(cases[i].tmpl, &facts, cases[i].key, false);
    }
}
END_TEST

static const char *nul_query(const void *from, const char *name, size_t *len, bool *ambiguous) {
    (void)from, (void)name, (void)ambiguous;
    *len = 8;
    return "\xc3\xa9 {}%\0\xff";
}

START_TEST(any_byte_is_encoded) {
    struct request_facts facts = facts_of(NULL);
    facts.query = nul_query;
    expect("{query.a}", &facts, "%C3%A9%20%7B%7D%25%00%FF", false);
}
END_TEST

START_TEST(addresses_keep_their_form) {
    struct request_facts facts = facts_of(NULL);
    facts.ip = "2001:db8:1:2::/64";
    expect("ip:{ip}", &facts, "ip:2001:db8:1:2::/64", false);
    facts.ip = "fe80::1%eth0";
    expect("ip:{ip}", &facts, "ip:fe80::1%25eth0", false);
}
END_TEST

/* case_key_09: never one bucket shared by everybody. */
START_TEST(absent_is_refused) {
    static const struct {
        const char *tmpl, *words;
        struct fake fake;
    } cases[] = {
        {"u:{query.user}", "no query.user", {{NULL}}},
        {"u:{query.user}", "no query.user", {{"q:user="}}},
        {"u:{query.user}", "no query.user", {{"q:User=a", "q:use=a", "h:user=a"}}},
        {"u:{query.user|header.X-User}", "none of query.user, header.X-User", {{"q:user=", "h:X-User="}}},
        {"a:{query.a}:{query.b}", "no query.b", {{"q:a=1"}}},
        {"u:{hash:header.K}", "no hash:header.K", {{NULL}}},
        {"u:{query.user|ip}", "query.user more than once", {{"q:user=a", "q:user=b"}}},
        {"u:{query.a|query.b}", "query.b more than once", {{"q:b=a", "q:b=b"}}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request_facts facts = facts_of(&cases[i].fake);
        expect(cases[i].tmpl, &facts, cases[i].words, true);
    }
    struct request_facts facts = facts_of(NULL);
    facts.prefix = "";
    expect("{prefix}:x", &facts, "no prefix", true);
}
END_TEST

START_TEST(too_long_is_refused) {
    static const struct fake fake = {{"q:a=0123456789"}};
    struct request_facts facts = facts_of(&fake);
    struct key_template *tmpl = parse("k:{query.a}");
    struct buf fits = BUF_INIT(12), short_one = BUF_INIT(11);
    struct err err = ERR_INIT;
    ck_assert_int_eq(key_template_render(tmpl, &facts, &fits, &err), 0);
    ck_assert_int_eq(key_template_render(tmpl, &facts, &short_one, &err), -1);
    CHECK_CONTAINS(err.text, "longer than 11 bytes");
    buf_free(&fits);
    buf_free(&short_one);
    key_template_free(tmpl);
}
END_TEST

START_TEST(bad_templates) {
    static const struct {
        const char *tmpl, *words;
    } cases[] = {
        {"", "1 to 512 bytes"},
        {"{", "'{' without '}' at byte 1"},
        {"ip:{ip", "'{' without '}' at byte 4"},
        {"ip}", "'}' without '{' at byte 3"},
        {"{ip}}", "'}' without '{' at byte 5"},
        {"{{ip}}", "unknown field \"{ip\" at byte 2"},
        {"{}", "unknown field \"\" at byte 2"},
        {"{ip|}", "unknown field \"\" at byte 5"},
        {"{|ip}", "unknown field \"\" at byte 2"},
        {"{IP}", "unknown field \"IP\""},
        {"{ ip}", "unknown field \" ip\""},
        {"{ip }", "unknown field \"ip \""},
        {"{user}", "allowed are ip, method"},
        {"{query}", "unknown field"},
        {"{query.}", "unknown field"},
        {"{query.a b}", "unknown field"},
        {"{query.a%20}", "unknown field"},
        {"{header.}", "unknown field"},
        {"{header.X Y}", "unknown field"},
        {"{header.X:Y}", "unknown field"},
        {"{hash:}", "unknown field"},
        {"{hash:hash:ip}", "unknown field"},
        {"{hash}", "unknown field"},
        {"{ip}{path}", "touch at byte 5"},
        {"{ip}a{path}", "touch at byte 6"},
        {"{ip}-_.~9Z%{path}", "touch at byte 12"},
        {"a:{ip}b{path|ip}", "touch"},
        {"a\nb", "control character 0x0a at byte 2"},
        {"{query.a\x7f}", "control character 0x7f at byte 9"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = ERR_INIT;
        ck_assert_msg(!key_template_parse(cases[i].tmpl, strlen(cases[i].tmpl), &err), "%s is taken",
                      cases[i].tmpl);
        CHECK_CONTAINS(err.text, cases[i].words);
    }
    struct err err = ERR_INIT;
    ck_assert_ptr_null(key_template_parse("{ip\0}", 5, &err));
    CHECK_CONTAINS(err.text, "control character 0x00 at byte 4");
}
END_TEST

START_TEST(size_of_templates) {
    char text[KEY_TEMPLATE_MAX + 2];
    memset(text, 'a', sizeof text);
    struct err err = ERR_INIT;
    struct key_template *tmpl = key_template_parse(text, KEY_TEMPLATE_MAX, &err);
    ck_assert_ptr_nonnull(tmpl);
    key_template_free(tmpl);
    ck_assert_ptr_null(key_template_parse(text, KEY_TEMPLATE_MAX + 1, &err));
    for (size_t parts = KEY_TEMPLATE_PARTS; parts <= KEY_TEMPLATE_PARTS + 1; parts++) {
        struct buf many = BUF_INIT(KEY_TEMPLATE_MAX);
        buf_adds(&many, "{ip");
        for (size_t i = 1; i < parts; i++)
            buf_adds(&many, "|ip");
        buf_adds(&many, "}");
        tmpl = key_template_parse(buf_str(&many), many.len, &err);
        ck_assert((tmpl != NULL) == (parts == KEY_TEMPLATE_PARTS));
        key_template_free(tmpl);
        buf_free(&many);
    }
    CHECK_CONTAINS(err.text, "more than 32 parts");
    key_template_free(NULL);
}
END_TEST

/* case_key_08: whatever two clients send, their keys differ. All pairs of values that try to look like each
 * other. */
START_TEST(no_two_clients_share_a_key) {
    static const char *const values[] = {
        "a",       "b",   "a:b",        "b:a",     ":",        "a:",    "%3A",  "@ip:1.2.3.4",
        "1.2.3.4", "@ip", "@query.b:a", "query.b", "@query.b", "a%3Ab", "{ip}", "a|b"};
    static const char *const templates[] = {
        "{query.a}:{query.b}", "{query.a|query.b|ip}:{query.b|ip}", "x@{query.a|ip}@ip:{query.b|ip}",
        "{ip}:{query.a|query.b}:{query.b|query.a}", "{hash:query.a}:{query.b}"};
    enum { CLIENTS = COUNT(values) * COUNT(values) };
    for (size_t t = 0; t < COUNT(templates); t++) {
        struct key_template *tmpl = parse(templates[t]);
        struct buf keys[CLIENTS];
        for (size_t i = 0; i < CLIENTS; i++) {
            char a[64], b[64];
            snprintf(a, sizeof a, "q:a=%s", values[i / COUNT(values)]);
            snprintf(b, sizeof b, "q:b=%s", values[i % COUNT(values)]);
            struct fake fake = {{a, b}};
            struct request_facts facts = facts_of(&fake);
            keys[i] = (struct buf)BUF_INIT(KEY_TEXT_MAX);
            ck_assert_int_eq(key_template_render(tmpl, &facts, &keys[i], NULL), 0);
        }
        for (size_t i = 0; i < CLIENTS; i++) {
            for (size_t j = 0; j < i; j++)
                ck_assert_str_ne(buf_str(&keys[i]), buf_str(&keys[j]));
        }
        for (size_t i = 0; i < CLIENTS; i++)
            buf_free(&keys[i]);
        key_template_free(tmpl);
    }
}
END_TEST

static void expect_encoded(const char *key, size_t len, const char *right) {
    struct buf out = BUF_INIT(1024);
    buf_adds(&out, "p:");
    key_encode(key, len, &out);
    CHECK_CONTAINS(buf_str(&out), "p:");
    ck_assert_str_eq(buf_str(&out) + 2, right);
    buf_free(&out);
}

/* case_key_14, case_key_17: braces and format marks do not reach Redis as such. */
START_TEST(redis_text) {
    static const struct {
        const char *key, *right;
    } cases[] = {
        {"", ""},
        {"ip:1.2.3.4", "ip:1.2.3.4"},
        {"user:@ip:::1", "user:@ip:::1"},
        {"{", "%7B"},
        {"}", "%7D"},
        {"{}", "%7B%7D"},
        {"a{b", "a%7Bb"},
        {"{a}b", "%7Ba%7Db"},
        {"a}b{c", "a%7Db%7Bc"},
        {"{}{x}", "%7B%7D%7Bx%7D"},
        {"%s%s%n", "%25s%25s%25n"},
        {"%7B", "%257B"},
        {"a b", "a b"},
        {"a\r\nFLUSHALL\r\n", "a%0D%0AFLUSHALL%0D%0A"},
        {"a\"b'c\\d", "a\"b'c\\d"},
        {"${x}", "$%7Bx%7D"},
        {"\x7f\x80\xff\xc3\xa9", "%7F%80%FF%C3%A9"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_encoded(cases[i].key, strlen(cases[i].key), cases[i].right);
    expect_encoded("a\0b", 3, "a%00b");
}
END_TEST

/* case_key_11: long keys are told apart by all of their bytes. */
START_TEST(long_keys) {
    static const size_t lengths[] = {15, 31, 63, 127, 199, 200, 255, 511, 1023, 4095, 16000};
    static char first[16384], second[16384];
    memset(first, 'x', sizeof first);
    memset(second, 'x', sizeof second);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        size_t len = lengths[i];
        first[len] = '1';
        second[len] = '2';
        struct buf a = BUF_INIT(1024), b = BUF_INIT(1024);
        key_encode(first, len + 1, &a);
        key_encode(second, len + 1, &b);
        ck_assert_str_ne(buf_str(&a), buf_str(&b));
        ck_assert_uint_eq(a.len, len + 1 <= 200 ? len + 1 : 64 + 8 + 64);
        first[len] = second[len] = 'x';
        buf_free(&a);
        buf_free(&b);
    }
}
END_TEST

/* The bound is on the encoded text; the mark cannot be spelled by a client. */
START_TEST(hashed_text) {
    char key[201], right[256];
    memset(key, 'x', 200);
    key[200] = '\0';
    expect_encoded(key, 200, key);
    key[199] = '{'; /* 202 bytes when encoded */
    char hash[KEY_HASH_TEXT];
    key_hash(key, 200, hash);
    snprintf(right, sizeof right, "%.64s%%sha256:%s", key, hash);
    expect_encoded(key, 200, right);
    char forged[256] = "";
    for (const char *c = right; *c; c++) {
        char one[] = {*c, '\0'};
        strcat(forged, *c == '%' ? "%25" : one);
    }
    expect_encoded(right, strlen(right), forged);
    key_hash("abc", 3, hash);
    ck_assert_str_eq(hash, ABC_HASH);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("key_template");
    tcase_add_test(tests, renders);
    tcase_add_test(tests, any_byte_is_encoded);
    tcase_add_test(tests, addresses_keep_their_form);
    tcase_add_test(tests, absent_is_refused);
    tcase_add_test(tests, too_long_is_refused);
    tcase_add_test(tests, bad_templates);
    tcase_add_test(tests, size_of_templates);
    tcase_add_test(tests, no_two_clients_share_a_key);
    tcase_add_test(tests, redis_text);
    tcase_add_test(tests, long_keys);
    tcase_add_test(tests, hashed_text);
    Suite *suite = suite_create("key_template");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
