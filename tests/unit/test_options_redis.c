/* Where Redis is: options, environment and REDIS_URL, and which of them counts. */
#include "options_tests.h"

/* "-": NULL. */
static const struct {
    const char *arguments, *environment, *host;
    int port;
    const char *socket;
    int db;
    const char *user, *password;
} redis[] = {
    {"", "REDIS_URL=redis://h", "h", 6379, "-", 0, "-", "-"},
    {"", "REDIS_URL=redis://h/", "h", 6379, "-", 0, "-", "-"},
    {"", "REDIS_URL=redis://h:7/3", "h", 7, "-", 3, "-", "-"},
    {"", "REDIS_URL=redis://h:7?db=3", "h", 7, "-", 3, "-", "-"},
    {"", "REDIS_URL=redis://h:7/?db=3", "h", 7, "-", 3, "-", "-"},
    {"", "REDIS_URL=redis://:pw@h", "h", 6379, "-", 0, "-", "pw"},
    {"", "REDIS_URL=redis://me:pw@h", "h", 6379, "-", 0, "me", "pw"},
    {"", "REDIS_URL=redis://m%65:p%40%3A%2F%25+@h", "h", 6379, "-", 0, "me", "p@:/%+"},
    {"", "REDIS_URL=redis://:p@q:r@h", "h", 6379, "-", 0, "-", "p@q:r"},
    {"", "REDIS_URL=redis://[::1]:7", "::1", 7, "-", 0, "-", "-"},
    {"", "REDIS_URL=redis://[::1]", "::1", 6379, "-", 0, "-", "-"},
    {"", "REDIS_URL=unix:///run/redis.sock", "localhost", 6379, "/run/redis.sock", 0, "-", "-"},
    {"", "REDIS_URL=unix:///run/a%20b.sock?db=2", "localhost", 6379, "/run/a b.sock", 2, "-", "-"},
    {"", "REDIS_URL=unix://me:pw@/s?db=2", "localhost", 6379, "/s", 2, "me", "pw"},
    {"", "REDIS_URL=|REDIS_PASSWORD=", "localhost", 6379, "-", 0, "-", "-"},
    {"", "REDIS_PASSWORD=pw", "localhost", 6379, "-", 0, "-", "pw"},
    {"", "REDIS_URL=redis://me:pw@h|REDIS_PASSWORD=other", "h", 6379, "-", 0, "me", "other"},
    {"", "REDIS_URL=redis://me@h|REDIS_PASSWORD=pw", "h", 6379, "-", 0, "me", "pw"},
    {"--redis-db|9|--redis-user|you", "REDIS_URL=redis://me:pw@h/3", "h", 6379, "-", 9, "you", "pw"},
    {"", "REDIS_URL=redis://me:pw@h/3|RATELIMITD_REDIS_DB=4", "h", 6379, "-", 4, "me", "pw"},
    /* An address from elsewhere puts the whole URL aside, its password above all. */
    {"--redis-host|x", "REDIS_URL=redis://me:pw@h:7/3", "x", 6379, "-", 0, "-", "-"},
    {"--redis-port|1", "REDIS_URL=redis://me:pw@h:7/3", "localhost", 1, "-", 0, "-", "-"},
    {"--redis-socket|/s", "REDIS_URL=redis://me:pw@h:7/3", "localhost", 6379, "/s", 0, "-", "-"},
    {"", "REDIS_URL=unix:///s|RATELIMITD_REDIS_HOST=x", "x", 6379, "-", 0, "-", "-"},
    {"--redis-host|x", "REDIS_URL=nonsense", "x", 6379, "-", 0, "-", "-"},
    {"--with-redis", "REDIS_URL=redis://me:pw@h|REDIS_PASSWORD=pw", "localhost", 6379, "-", 0, "-", "-"},
    /* Socket or host: the command line's. */
    {"--redis-socket|/s", "RATELIMITD_REDIS_HOST=h|RATELIMITD_REDIS_PORT=1", "localhost", 6379, "/s", 0, "-",
     "-"},
    {"--redis-host|h", "RATELIMITD_REDIS_SOCKET=/s", "h", 6379, "-", 0, "-", "-"},
};

static void check_text(const char *got, const char *expected) {
    ck_assert_str_eq(got ? got : "-", expected);
}

START_TEST(where_redis_is) {
    must_run(redis[_i].arguments, redis[_i].environment);
    check_text(options.redis_host, redis[_i].host);
    ck_assert_int_eq(options.redis_port, redis[_i].port);
    check_text(options.redis_socket, redis[_i].socket);
    ck_assert_int_eq(options.redis_db, redis[_i].db);
    check_text(options.redis_user, redis[_i].user);
    check_text(options.redis_password, redis[_i].password);
    options_free(&options);
}
END_TEST

static const struct {
    const char *url, *words;
} bad_urls[] = {
    {"secret", "the scheme is not valid"},
    {"secret://h", "the scheme"},
    {"rediss://:secret@h", "the scheme"},
    {"redis:secret", "the scheme"},
    {"redis://", "the host"},
    {"redis://:secret@", "the host"},
    {"redis://:se/cret@h", "the host"},
    {"redis://h:secret", "the port"},
    {"redis://h:0", "the port"},
    {"redis://h:", "the port"},
    {"redis://[::1", "the host"},
    {"redis://[::1]secret", "the host"},
    {"redis://::1:7", "the host"},
    {"redis://h/secret", "the database"},
    {"redis://h/1/2", "the database"},
    {"redis://h/1?db=2", "the database"},
    {"redis://h?secret=1", "the query"},
    {"redis://h/-1", "the database"},
    {"redis://:secret%zz@h", "the password"},
    {"redis://:secret%00@h", "the password"},
    {"redis://:secret%0a@h", "the password"},
    {"redis://:@h", "the password"},
    {"redis://secret%0a:x@h", "the user"},
    {"redis://secret@h", "a Redis user needs a password"},
    {"unix://", "the path"},
    {"unix://secret", "the path"},
    {"unix://secret/s", "the path"},
};

START_TEST(a_bad_url_is_refused_without_repeating_it) {
    char variable[128];
    snprintf(variable, sizeof variable, "REDIS_URL=%s", bad_urls[_i].url);
    must_fail("", variable, bad_urls[_i].words);
    ck_assert_msg(!strstr(err.text, "secret") && !strstr(err.text, "cret@"), "told a secret: %s", err.text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("options_redis");
    TCase *tests = tcase_create("options_redis");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, where_redis_is, 0, COUNT(redis));
    tcase_add_loop_test(tests, a_bad_url_is_refused_without_repeating_it, 0, COUNT(bad_urls));
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
