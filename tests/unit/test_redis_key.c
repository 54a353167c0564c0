/* Names of keys in Redis, there and back. */
#include "limit/redis_key.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static const struct {
    const char *key;
    size_t len;
    const char *name;
} names[] = {
    {"ip:127.0.0.1", 12, "rl:default:token_bucket:{ip:127.0.0.1}"},
    {"", 0, "rl:default:token_bucket:{}"},
    {"a}b{c%", 6, "rl:default:token_bucket:{a%7Db%7Bc%25}"},
    {"\0\r\n\xff", 4, "rl:default:token_bucket:{%00%0D%0A%FF}"},
    {":{x}", 4, "rl:default:token_bucket:{:%7Bx%7D}"},
};

START_TEST(there_and_back) {
    struct buf name = BUF_INIT(1024), key = BUF_INIT(1024);
    struct redis_key_parts parts;
    redis_key_add(&name, "rl:", "default", "token_bucket", names[_i].key, names[_i].len);
    ck_assert_str_eq(buf_str(&name), names[_i].name);
    ck_assert(redis_key_read(name.data, name.len, "rl:", "default", &parts, &key));
    ck_assert(!parts.hashed);
    CHECK_TEXT(parts.limit, parts.limit_len, "token_bucket");
    ck_assert_uint_eq(key.len, names[_i].len);
    ck_assert_mem_eq(buf_str(&key), names[_i].key, names[_i].len);
    buf_free(&name);
    buf_free(&key);
}
END_TEST

/* Every length around the one from which on text is hashed. */
START_TEST(long_text_is_hashed) {
    char text[205];
    memset(text, 'k', sizeof text);
    for (size_t len = 195; len <= sizeof text; len++) {
        struct buf name = BUF_INIT(1024), key = BUF_INIT(1024);
        struct redis_key_parts parts;
        redis_key_add(&name, "rl:", "p", "l", text, len);
        ck_assert(redis_key_read(name.data, name.len, "rl:", "p", &parts, &key));
        ck_assert_int_eq(parts.hashed, len > 200);
        ck_assert_uint_eq(key.len, len > 200 ? 0 : len);
        buf_free(&name);
        buf_free(&key);
    }
}
END_TEST

static const char *const strangers[] = {
    "",
    "rl:",
    "rl:default",
    "rl:default:",
    "rl:default:l",
    "rl:default:l:",
    "rl:default:l:{",
    "rl:default:l:x}",
    "rl:default2:l:{x}",
    "xx:default:l:{x}",
    "rl:default:l:{%zz}",
    "rl:default:l:{%4}",
};

START_TEST(what_is_none_of_ours) {
    struct buf key = BUF_INIT(1024);
    struct redis_key_parts parts;
    ck_assert_msg(!redis_key_read(strangers[_i], strlen(strangers[_i]), "rl:", "default", &parts, &key), "%s",
                  strangers[_i]);
    ck_assert_uint_eq(key.len, 0);
    buf_free(&key);
}
END_TEST

START_TEST(a_pattern_takes_its_prefix_literally) {
    struct buf out = BUF_INIT(256);
    redis_key_pattern(&out, "a*[b]?\\^c:", "p-1");
    ck_assert_str_eq(buf_str(&out), "a\\*\\[b\\]\\?\\\\\\^c:p-1:*");
    buf_free(&out);
}
END_TEST

int main(void) {
    TCase *group = tcase_create("redis_key");
    tcase_add_loop_test(group, there_and_back, 0, (int)COUNT(names));
    tcase_add_test(group, long_text_is_hashed);
    tcase_add_loop_test(group, what_is_none_of_ours, 0, (int)COUNT(strangers));
    tcase_add_test(group, a_pattern_takes_its_prefix_literally);
    Suite *suite = suite_create("redis_key");
    suite_add_tcase(suite, group);
    return unit_main(suite);
}
