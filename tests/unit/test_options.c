/* The command line and its environment: defaults, values, who wins, and the settings of the start made of
 * them. What is wrong: test_options_bad.c; where Redis is, secrets, --help: the other test_options_*.c. */
#include <unistd.h>

#include "base/decimal.h"
#include "config/json_check.h"
#include "options_tests.h"

START_TEST(defaults) {
    must_run("", "");
    ck_assert_str_eq(options.host, "127.0.0.1");
    ck_assert_int_eq(options.port, 8080);
    ck_assert_int_eq(options.threads, (int)sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert_int_eq(options.max_connections, 10000);
    ck_assert_str_eq(options.redis_host, "localhost");
    ck_assert_int_eq(options.redis_port, 6379);
    ck_assert_ptr_null(options.redis_socket);
    ck_assert_int_eq(options.redis_db, 0);
    ck_assert_ptr_null(options.redis_user);
    ck_assert_ptr_null(options.redis_password);
    ck_assert_int_eq(options.redis_timeout_ms, 250);
    ck_assert(!options.with_redis);
    ck_assert_str_eq(options.key_prefix, "rl:");
    ck_assert_str_eq(options.limit.algorithm->name, "token_bucket");
    ck_assert_int_eq(options.limit.params[0], 10 * MICRO);
    ck_assert_int_eq(options.limit.params[1], 1 * MICRO);
    ck_assert_int_eq(options.limit.params[2], 1 * MICRO);
    ck_assert_int_eq(options.on_redis_error, ON_REDIS_ERROR_LOCAL);
    ck_assert_ptr_null(options.admin_token);
    ck_assert_ptr_null(options.check_token);
    ck_assert_uint_eq(options.trusted_proxies.count, 0);
    ck_assert_int_eq(options.gateway, GATEWAY_NONE);
    ck_assert_int_eq(options.ipv6_prefix, 64);
    ck_assert(options.ratelimit_fields);
    ck_assert(options.denial_cache);
    ck_assert_ptr_null(options.static_dir);
    ck_assert(!options.log_json);
    ck_assert_int_eq(options.log_level, LOG_INFO);
    options_free(&options);
}
END_TEST

START_TEST(every_option_on_the_command_line) {
    must_run("--host|::1|--port=0|--threads|3|--max-connections=7|--redis-host|redis.example|--redis-port|1|-"
             "-redis-db=5|"
             "--redis-timeout|1",
             "");
    ck_assert_str_eq(options.host, "::1");
    ck_assert_int_eq(options.port, 0);
    ck_assert_int_eq(options.threads, 3);
    ck_assert_int_eq(options.max_connections, 7);
    ck_assert_str_eq(options.redis_host, "redis.example");
    ck_assert_int_eq(options.redis_port, 1);
    ck_assert_int_eq(options.redis_db, 5);
    ck_assert_int_eq(options.redis_timeout_ms, 1);
    options_free(&options);
    must_run("--with-redis|--key-prefix|app:|--capacity=20|--refill-rate|0.5|--refill-interval=2.5|--on-"
             "redis-error|closed|"
             "--ratelimit-fields=off|--static-dir|/|--log-format=json|--log-level=debug",
             "");
    ck_assert(options.with_redis);
    ck_assert_str_eq(options.key_prefix, "app:");
    ck_assert_int_eq(options.limit.params[0], 20 * MICRO);
    ck_assert_int_eq(options.limit.params[1], MICRO / 2);
    ck_assert_int_eq(options.limit.params[2], 2500000);
    ck_assert_int_eq(options.on_redis_error, ON_REDIS_ERROR_CLOSED);
    ck_assert(!options.ratelimit_fields);
    ck_assert_str_eq(options.static_dir, "/");
    ck_assert(options.log_json);
    ck_assert_int_eq(options.log_level, LOG_DEBUG);
    options_free(&options);
}
END_TEST

START_TEST(every_option_in_the_environment) {
    must_run("",
             "RATELIMITD_HOST=0.0.0.0|RATELIMITD_PORT=9|RATELIMITD_THREADS=4|RATELIMITD_MAX_CONNECTIONS=8|"
             "RATELIMITD_REDIS_SOCKET=/run/redis.sock|RATELIMITD_REDIS_DB=1|RATELIMITD_REDIS_TIMEOUT=60000|"
             "RATELIMITD_KEY_PREFIX=x|RATELIMITD_CAPACITY=3|RATELIMITD_REFILL_RATE=2|RATELIMITD_REFILL_"
             "INTERVAL=0.001|"
             "RATELIMITD_LOG_FORMAT=json|RATELIMITD_LOG_LEVEL=warn");
    ck_assert_str_eq(options.host, "0.0.0.0");
    ck_assert_int_eq(options.port, 9);
    ck_assert_int_eq(options.threads, 4);
    ck_assert_int_eq(options.max_connections, 8);
    ck_assert_str_eq(options.redis_socket, "/run/redis.sock");
    ck_assert_int_eq(options.redis_db, 1);
    ck_assert_int_eq(options.redis_timeout_ms, 60000);
    ck_assert_str_eq(options.key_prefix, "x");
    ck_assert_int_eq(options.limit.params[0], 3 * MICRO);
    ck_assert_int_eq(options.limit.params[1], 2 * MICRO);
    ck_assert_int_eq(options.limit.params[2], 1000);
    ck_assert(options.log_json);
    ck_assert_int_eq(options.log_level, LOG_WARN);
    options_free(&options);
    must_run("", "RATELIMITD_ON_REDIS_ERROR=closed|RATELIMITD_RATELIMIT_FIELDS=off|RATELIMITD_STATIC_DIR=/"
                 "|RATELIMITD_REDIS_PORT=2|"
                 "RATELIMITD_REDIS_HOST=::1|RATELIMITD_REDIS_USER=me|REDIS_PASSWORD=pw");
    ck_assert_int_eq(options.on_redis_error, ON_REDIS_ERROR_CLOSED);
    ck_assert(!options.ratelimit_fields);
    ck_assert_str_eq(options.static_dir, "/");
    ck_assert_str_eq(options.redis_host, "::1");
    ck_assert_int_eq(options.redis_port, 2);
    ck_assert_str_eq(options.redis_user, "me");
    options_free(&options);
}
END_TEST

START_TEST(the_command_line_wins) {
    must_run("--port|1|--redis-host|here",
             "RATELIMITD_PORT=2|RATELIMITD_REDIS_HOST=there|RATELIMITD_THREADS=2");
    ck_assert_int_eq(options.port, 1);
    ck_assert_str_eq(options.redis_host, "here");
    ck_assert_int_eq(options.threads, 2);
    options_free(&options);
    must_run("--port|1", "RATELIMITD_PORT=nonsense"); /* not looked at */
    options_free(&options);
    must_run("--with-redis=off", "RATELIMITD_WITH_REDIS=1");
    ck_assert(!options.with_redis);
    options_free(&options);
    must_run("",
             "RATELIMITD_PORTS=1|ratelimitd_port=2|PORT=3|RATELIMITD_PORT"); /* other names, and no value */
    ck_assert_int_eq(options.port, 8080);
    options_free(&options);
}
END_TEST

/* Each block as "address/bits of 128", joined by spaces. */
static const struct {
    const char *arguments, *environment, *blocks;
} lists[] = {
    {"--trusted-proxy|10.0.0.0/8", "", "10.0.0.0/104"},
    {"--trusted-proxy|192.0.2.7|--trusted-proxy=::1", "", "192.0.2.7/128 ::1/128"},
    {"--trusted-proxy|192.0.2.7|--port|1|--trusted-proxy|2001:db8::/32|--trusted-proxy|::1", "",
     "192.0.2.7/128 2001:db8::/32 ::1/128"},
    {"--trusted-proxy|192.0.2.7, 2001:db8::/32|--trusted-proxy|::1", "",
     "192.0.2.7/128 2001:db8::/32 ::1/128"},
    {"", "RATELIMITD_TRUSTED_PROXY=10.0.0.0/8", "10.0.0.0/104"},
    {"", "RATELIMITD_TRUSTED_PROXY=10.0.0.0/8, 192.0.2.7 ,::1", "10.0.0.0/104 192.0.2.7/128 ::1/128"},
    {"--trusted-proxy|::1", "RATELIMITD_TRUSTED_PROXY=nonsense", "::1/128"}, /* not looked at */
};

START_TEST(what_is_given_several_times_is_one_list) {
    struct buf told = BUF_INIT(TEXT_MAX);
    must_run(lists[_i].arguments, lists[_i].environment);
    for (size_t i = 0; i < options.trusted_proxies.count; i++) {
        char text[IP_TEXT_MAX];
        ip_text(&options.trusted_proxies.blocks[i].ip, text);
        buf_addf(&told, "%s%s/%u", i ? " " : "", text, options.trusted_proxies.blocks[i].bits);
    }
    ck_assert_str_eq(buf_str(&told), lists[_i].blocks);
    buf_free(&told);
    options_free(&options);
}
END_TEST

START_TEST(what_stands_before_the_service) {
    must_run("--trusted-proxy|::1|--gateway|x-forwarded|--ipv6-prefix=48", "RATELIMITD_CHECK_TOKEN=sesame");
    ck_assert_int_eq(options.gateway, GATEWAY_X_FORWARDED);
    ck_assert_int_eq(options.ipv6_prefix, 48);
    ck_assert_str_eq(options.check_token, "sesame");
    ck_assert_ptr_null(options.admin_token);
    options_free(&options);
    must_run("", "RATELIMITD_TRUSTED_PROXY=::1|RATELIMITD_GATEWAY=x-original|RATELIMITD_IPV6_PREFIX=128");
    ck_assert_int_eq(options.gateway, GATEWAY_X_ORIGINAL);
    ck_assert_int_eq(options.ipv6_prefix, 128);
    options_free(&options);
    must_run("--gateway|path|--trusted-proxy|10.0.0.0/8", "");
    ck_assert_int_eq(options.gateway, GATEWAY_PATH);
    options_free(&options);
}
END_TEST

static const struct {
    const char *text;
    bool on;
} flags[] = {{"1", true},  {"true", true}, {"TRUE", true},   {"yes", true}, {"on", true},
             {"On", true}, {"0", false},   {"false", false}, {"no", false}, {"off", false}};

START_TEST(flags_in_the_environment) {
    char variable[64];
    snprintf(variable, sizeof variable, "RATELIMITD_WITH_REDIS=%s", flags[_i].text);
    must_run("", variable);
    ck_assert(options.with_redis == flags[_i].on);
    options_free(&options);
}
END_TEST

START_TEST(any_algorithm_for_the_default_policy) {
    must_run("--window=60|--algorithm|fixed_window", "RATELIMITD_LIMIT=5");
    ck_assert_str_eq(options.limit.algorithm->name, "fixed_window");
    ck_assert_int_eq(options.limit.params[0], 5 * MICRO);
    ck_assert_int_eq(options.limit.params[1], 60 * MICRO);
    options_free(&options);
    must_run("--sub-windows=4", "RATELIMITD_ALGORITHM=sliding_window_counter");
    ck_assert_int_eq(options.limit.params[2], 4 * MICRO);
    struct buf json = BUF_INIT(4096);
    options_config_json(&options, &json);
    CHECK_CONTAINS(buf_str(&json),
                   "\"algorithm\":\"sliding_window_counter\",\"limit\":10,\"window\":10,\"sub_windows\":4,");
    buf_free(&json);
    options_free(&options);
    must_run("--algorithm=leaky_bucket|--leak-rate=0.5|--capacity=3", "");
    ck_assert_int_eq(options.limit.params[0], 3 * MICRO);
    ck_assert_int_eq(options.limit.params[1], MICRO / 2);
    options_free(&options);
}
END_TEST

START_TEST(the_start_document) {
    struct buf json = BUF_INIT(4096);
    must_run("", "");
    options_config_json(&options, &json);
    CHECK_CONTAINS(
        buf_str(&json),
        "{\"policies\":{\"default\":{\"paths\":[\"/api\"],\"key\":\"ip:{ip}\",\"algorithm\":\"token_bucket\","
        "\"capacity\":10,\"refill_rate\":1,\"refill_interval\":1,\"on_redis_error\":\"local\"},");
    for (size_t i = 0; i < algorithm_count; i++) {
        char words[64];
        snprintf(words, sizeof words, "\"algorithm\":\"%s\",\"on_redis_error\":\"local\"}",
                 algorithms[i]->name);
        CHECK_CONTAINS(buf_str(&json), words);
    }
    CHECK_CONTAINS(
        buf_str(&json),
        "\"sliding-window-log\":{\"paths\":[\"/api/sliding-window-log\"],\"key\":\"user:{query.user|ip}\"");
    options_free(&options);
    buf_clear(&json);
    must_run("--capacity|3|--refill-rate|0.5|--refill-interval|600.001|--on-redis-error|closed", "");
    options_config_json(&options, &json);
    CHECK_CONTAINS(buf_str(&json), "\"capacity\":3,\"refill_rate\":0.5,\"refill_interval\":600.001,");
    CHECK_CONTAINS(buf_str(&json), "\"on_redis_error\":\"closed\"");
    ck_assert_int_eq(json_check(json.data, json.len, &err), 0);
    options_free(&options);
    buf_free(&json);
}
END_TEST

START_TEST(no_arguments_at_all) {
    char *argv[] = {NULL}, *env[] = {NULL};
    ck_assert_int_eq(options_parse(&options, 0, argv, env, &err), OPTIONS_RUN);
    options_free(&options);
    options_free(&options);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("options");
    TCase *tests = tcase_create("options");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, defaults);
    tcase_add_test(tests, every_option_on_the_command_line);
    tcase_add_test(tests, every_option_in_the_environment);
    tcase_add_test(tests, the_command_line_wins);
    tcase_add_loop_test(tests, what_is_given_several_times_is_one_list, 0, COUNT(lists));
    tcase_add_test(tests, what_stands_before_the_service);
    tcase_add_loop_test(tests, flags_in_the_environment, 0, COUNT(flags));
    tcase_add_test(tests, any_algorithm_for_the_default_policy);
    tcase_add_test(tests, the_start_document);
    tcase_add_test(tests, no_arguments_at_all);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
