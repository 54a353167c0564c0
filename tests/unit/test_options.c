/* The command line and its environment: values and bounds, who wins, secrets, where Redis is, --help. */
#include "app/options.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/decimal.h"
#include "config/json_check.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { WORDS_MAX = 16, TEXT_MAX = 2048 };

static struct options options;
static struct err err;

/* Cuts "a|b|c" into a list that NULL ends; returns its length. */
static int split(const char *text, char copy[TEXT_MAX], char *list[WORDS_MAX]) {
    int count = 0;
    snprintf(copy, TEXT_MAX, "%s", text);
    for (char *word = *copy ? copy : NULL, *next; word; word = next) {
        next = strchr(word, '|');
        if (next) *next++ = '\0';
        list[count++] = word;
    }
    list[count] = NULL;
    return count;
}

/* Arguments and environment, each written as "a|b|c". */
static enum options_result parse(const char *arguments, const char *environment) {
    char argument_text[TEXT_MAX], environment_text[TEXT_MAX];
    char program[] = "ratelimitd", *argv[WORDS_MAX + 1] = {program}, *env[WORDS_MAX];
    int argc = 1 + split(arguments, argument_text, argv + 1);
    split(environment, environment_text, env);
    err = (struct err)ERR_INIT;
    return options_parse(&options, argc, argv, env, &err);
}

static void must_run(const char *arguments, const char *environment) {
    enum options_result result = parse(arguments, environment);
    ck_assert_msg(result == OPTIONS_RUN, "%s / %s: %s", arguments, environment, err.text);
    ck_assert_str_eq(err.text, "");
}

static void must_fail(const char *arguments, const char *environment, const char *words) {
    enum options_result result = parse(arguments, environment);
    ck_assert_msg(result == OPTIONS_BAD, "%s / %s passed", arguments, environment);
    CHECK_CONTAINS(err.text, words);
    ck_assert_msg(!strchr(err.text, '\n'), "more than one line: %s", err.text);
    options_free(&options);
}

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

START_TEST(help_and_version) {
    ck_assert_int_eq(parse("--help", ""), OPTIONS_HELP);
    options_free(&options);
    ck_assert_int_eq(parse("--version", ""), OPTIONS_VERSION);
    options_free(&options);
    ck_assert_int_eq(parse("--port|1|--help|--nonsense", "RATELIMITD_PORT=x"), OPTIONS_HELP);
    options_free(&options);
    must_run("", "RATELIMITD_VERSION=1.2.3|RATELIMITD_HELP=1"); /* what an image may set says nothing */
    options_free(&options);
}
END_TEST

/* `words`: what the one line must hold. */
static const struct {
    const char *arguments, *environment, *words;
} bad[] = {
    {"--prot|1", "", "unknown option \"--prot\""},
    {"--PORT|1", "", "unknown option \"--PORT\""},
    {"--por|1", "", "unknown option"}, /* no abbreviations */
    {"--", "", "unexpected argument \"--\""},
    {"--=1", "", "unexpected argument"},
    {"-p|1", "", "unexpected argument \"-p\""},
    {"-h", "", "see --help"},
    {"8080", "", "unexpected argument \"8080\""},
    {"--port|1|2", "", "unexpected argument \"2\""},
    {"--with-redis|1", "", "unexpected argument \"1\""},
    {"a\nb", "", "\"a?b\""},
    {"--port", "", "--port needs a value"},
    {"--port|--threads|2", "", "--port needs a value"},
    {"--port|1|--port|1", "", "--port is given twice"},
    {"--with-redis|--with-redis", "", "--with-redis is given twice"},
    {"--help=1", "", "--help takes no value; got \"1\""},
    {"--with-redis=maybe", "",
     "--with-redis must be 1, true, yes or on, or 0, false, no or off; got \"maybe\""},
    {"--port=", "", "--port must be a whole number from 0 to 65535; got \"\""},
    {"--port|65536", "", "--port must be a whole number from 0 to 65535; got \"65536\""},
    {"--port|-1", "", "got \"-1\""},
    {"--port|+1", "", "got \"+1\""},
    {"--port|0x10", "", "got \"0x10\""},
    {"--port|010", "", "got \"010\""},
    {"--port|1e2", "", "got \"1e2\""},
    {"--port|1.0", "", "got \"1.0\""},
    {"--port| 1", "", "got \" 1\""},
    {"--port|1 ", "", "got \"1 \""},
    {"--port|\xef\xbc\x91", "", "from 0 to 65535"},
    {"--port|4294967296", "", "from 0 to 65535"},
    {"--port|99999999999999999999", "", "from 0 to 65535"},
    {"", "RATELIMITD_PORT=x", "RATELIMITD_PORT must be a whole number from 0 to 65535; got \"x\""},
    {"", "RATELIMITD_PORT=", "RATELIMITD_PORT must be"},
    {"--threads|0", "", "from 1 to 256; got \"0\""},
    {"--threads|257", "", "from 1 to 256"},
    {"--max-connections|0", "", "from 1 to 1000000"},
    {"--max-connections|1000001", "", "from 1 to 1000000"},
    {"--redis-port|0", "", "from 1 to 65535"},
    {"--redis-port|65536", "", "from 1 to 65535"},
    {"--redis-db|-1", "", "from 0 to"},
    {"--redis-timeout|0", "", "from 1 to 60000"},
    {"--redis-timeout|60001", "", "from 1 to 60000"},
    {"--host|example.com", "",
     "--host must be a numeric IPv4 or IPv6 address, or localhost; got \"example.com\""},
    {"--host|[::1]", "", "got \"[::1]\""},
    {"--host|127.0.0.1:80", "", "--host must be"},
    {"--host|1.2.3", "", "--host must be"},
    {"--host|256.1.1.1", "", "--host must be"},
    {"--host=", "", "--host must be"},
    {"--redis-host|localhost:6379", "",
     "--redis-host must be a host name or an address, without a port; got"},
    {"--redis-host=", "", "--redis-host must be"},
    {"--redis-host|a b", "", "--redis-host must be"},
    {"--redis-host|redis://h", "", "--redis-host must be"},
    {"--redis-host|-h", "", "--redis-host must be"},
    {"--redis-socket=", "", "--redis-socket must be 1 to 107 bytes"},
    {"--redis-user=", "", "--redis-user must be"},
    {"--redis-user|me", "", "needs a password"},
    {"--key-prefix=", "", "--key-prefix must be 1 to 64 printable"},
    {"--key-prefix|a{b", "", "got \"a{b\""},
    {"--key-prefix|a}b", "", "--key-prefix must be"},
    {"--key-prefix|a%b", "", "--key-prefix must be"},
    {"--key-prefix|a b", "", "--key-prefix must be"},
    {"--key-prefix|\xc3\xa9", "", "--key-prefix must be"},
    {"--key-prefix|0123456789012345678901234567890123456789012345678901234567890123x", "",
     "--key-prefix must be"},
    {"--capacity|0", "", "--capacity must be a whole number from 1 to 1000000000; got \"0\""},
    {"--capacity|-5", "", "got \"-5\""},
    {"--capacity|1.5", "", "got \"1.5\""},
    {"--capacity|1000000001", "", "got \"1000000001\""},
    {"--capacity|1e400", "", "got \"1e400\""},
    {"--capacity|nan", "", "got \"nan\""},
    {"--capacity|inf", "", "got \"inf\""},
    {"--capacity|0x10", "", "got \"0x10\""},
    {"--capacity|007", "", "got \"007\""},
    {"--capacity|5.", "", "got \"5.\""},
    {"--capacity|+1", "", "got \"+1\""},
    {"--capacity|1 ", "", "got \"1 \""},
    {"--refill-rate|0", "", "--refill-rate must be a number above 0 up to 1000000000"},
    {"--refill-rate|-0.5", "", "--refill-rate must be"},
    {"--refill-rate|0.0000001", "", "with at most six decimals; got \"0.0000001\""},
    {"--refill-rate|1e-320", "", "--refill-rate must be"},
    {"--refill-interval|0", "", "--refill-interval must be a number from 0.001 to 31536000"},
    {"--refill-interval|0.0004", "", "--refill-interval must be"},
    {"--refill-interval|31536000.1", "", "--refill-interval must be"},
    {"", "RATELIMITD_CAPACITY=0", "RATELIMITD_CAPACITY must be"},
    {"--capacity|1000000000|--refill-rate|0.000001", "", "ten years"},
    {"--algorithm|fixed-window", "", "--algorithm must be token_bucket, fixed_window, "},
    {"--algorithm|fixed-window", "", "; got \"fixed-window\""},
    {"--limit|5", "",
     "--limit is no parameter of algorithm token_bucket, which has --capacity, --refill-rate, "
     "--refill-interval"},
    {"--algorithm|fixed_window", "RATELIMITD_CAPACITY=5",
     "RATELIMITD_CAPACITY is no parameter of algorithm fixed_window, which has --limit, --window"},
    {"--algorithm|sliding_window_log|--limit|100001", "",
     "--limit must be a whole number from 1 to 100000; got"},
    {"--algorithm|sliding_window_counter|--sub-windows|61", "", "from 1 to 60"},
    {"--on-redis-error|none", "", "--on-redis-error must be local, open or closed; got \"none\""},
    {"--on-redis-error|OPEN", "", "must be local, open or closed"},
    {"--ratelimit-fields|draft-8", "", "--ratelimit-fields must be draft-11 or off"},
    {"--trusted-proxy", "", "--trusted-proxy needs a value, --trusted-proxy CIDR: Address"},
    {"--trusted-proxy|10.0.0.1/8", "",
     "--trusted-proxy must be a numeric address, or a block with no bits set behind its prefix, such as "
     "10.0.0.0/8 or 2001:db8::/32; got \"10.0.0.1/8\""},
    {"--trusted-proxy|proxy.example", "", "--trusted-proxy must be"},
    {"--trusted-proxy=", "", "--trusted-proxy must be"},
    {"--trusted-proxy|::1|--trusted-proxy|x", "", "got \"x\""},
    {"--trusted-proxy|::1,", "", "got \"\""},
    {"--trusted-proxy|::1,,::2", "", "got \"\""},
    {"", "RATELIMITD_TRUSTED_PROXY=10.0.0.0/8,10.0.0.0/33",
     "RATELIMITD_TRUSTED_PROXY must be a numeric address"},
    {"", "RATELIMITD_TRUSTED_PROXY=", "RATELIMITD_TRUSTED_PROXY must be"},
    {"--gateway|nginx|--trusted-proxy|::1", "",
     "--gateway must be none, x-original, x-forwarded or path; got"},
    {"--gateway|path", "", "--gateway needs a --trusted-proxy"},
    {"", "RATELIMITD_GATEWAY=path", "RATELIMITD_GATEWAY needs a --trusted-proxy"},
    {"--ipv6-prefix|0", "", "--ipv6-prefix must be a whole number from 1 to 128; got \"0\""},
    {"--ipv6-prefix|129", "", "from 1 to 128"},
    {"--ipv6-prefix|/64", "", "from 1 to 128"},
    {"", "RATELIMITD_CHECK_TOKEN=a b", "RATELIMITD_CHECK_TOKEN must be printable ASCII without spaces"},
    {"--log-format|xml", "", "--log-format must be text or json"},
    {"--log-level|trace", "", "--log-level must be error, warn, info or debug; got \"trace\""},
    {"--static-dir|/nowhere/at/all", "",
     "--static-dir must be a directory that can be read; got \"/nowhere/at/all\""},
    {"--static-dir|/etc/passwd", "", "--static-dir must be a directory"},
    {"--admin-token-file|/nowhere", "", "--admin-token-file \"/nowhere\": cannot be read: No such file"},
    {"--redis-password-file|/", "", "cannot be read"},
    {"", "RATELIMITD_ADMIN_TOKEN_FILE=/nowhere", "RATELIMITD_ADMIN_TOKEN_FILE \"/nowhere\""},
    {"", "RATELIMITD_ADMIN_TOKEN=", "RATELIMITD_ADMIN_TOKEN must not be empty"},
    {"", "RATELIMITD_ADMIN_TOKEN=a b", "RATELIMITD_ADMIN_TOKEN must be printable ASCII without spaces"},
    {"", "RATELIMITD_ADMIN_TOKEN=a\n", "RATELIMITD_ADMIN_TOKEN must be printable"},
    {"", "REDIS_PASSWORD=a\nb", "REDIS_PASSWORD must hold no control characters"},
    {"--redis-socket|/s|--redis-host|h", "", "--redis-socket and --redis-host exclude each other"},
    {"--redis-socket|/s|--redis-port|1", "", "--redis-socket and --redis-port exclude each other"},
    {"", "RATELIMITD_REDIS_SOCKET=/s|RATELIMITD_REDIS_PORT=1",
     "RATELIMITD_REDIS_SOCKET and RATELIMITD_REDIS_PORT"},
    {"--with-redis|--redis-host|h", "", "--with-redis and --redis-host exclude each other"},
    {"--with-redis|--redis-port|1", "", "--with-redis and --redis-port"},
    {"--with-redis|--redis-socket|/s", "", "--with-redis and --redis-socket"},
    {"--with-redis", "RATELIMITD_REDIS_HOST=h", "--with-redis and RATELIMITD_REDIS_HOST exclude"},
    {"--redis-host|h", "RATELIMITD_WITH_REDIS=1", "RATELIMITD_WITH_REDIS and --redis-host exclude"},
};

START_TEST(what_is_wrong_is_told_in_one_line) {
    must_fail(bad[_i].arguments, bad[_i].environment, bad[_i].words);
}
END_TEST

START_TEST(long_values_are_cut_in_words) {
    char arguments[TEXT_MAX] = "--port|";
    memset(arguments + 7, '9', 1500);
    must_fail(arguments, "", "999...\"");
    ck_assert_uint_lt(strlen(err.text), 250);
}
END_TEST

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

/* A file of its own for each test. */
static char path[64];

static void write_file(const char *content, size_t len) {
    snprintf(path, sizeof path, "/tmp/test_options.XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, len), (ssize_t)len);
    close(fd);
}

/* `secret` NULL: refused with `words`. */
static const struct {
    const char *option, *content, *secret, *words;
} files[] = {
    {"--admin-token-file", "token", "token", NULL},
    {"--admin-token-file", "token\n", "token", NULL},
    {"--admin-token-file", "token\r\n", "token", NULL},
    {"--admin-token-file", "!~\"{}%", "!~\"{}%", NULL},
    {"--admin-token-file", "", NULL, "its content must not be empty"},
    {"--admin-token-file", "\n", NULL, "its content must not be empty"},
    {"--admin-token-file", "\r\n", NULL, "its content must not be empty"},
    {"--admin-token-file", "token\n\n", NULL, "printable ASCII"},
    {"--admin-token-file", "to ken", NULL, "printable ASCII"},
    {"--admin-token-file", " token", NULL, "printable ASCII"},
    {"--admin-token-file", "to\xc3\xa9", NULL, "printable ASCII"},
    {"--admin-token-file", "to\x7f", NULL, "printable ASCII"},
    {"--redis-password-file", "pass word\n", "pass word", NULL},
    {"--redis-password-file", "p\xc3\xa9", "p\xc3\xa9", NULL},
    {"--redis-password-file", "", NULL, "must not be empty"},
    {"--redis-password-file", "a\nb", NULL, "no control characters"},
    {"--redis-password-file", "a\tb", NULL, "no control characters"},
};

START_TEST(secrets_in_files) {
    write_file(files[_i].content, strlen(files[_i].content));
    char arguments[256];
    snprintf(arguments, sizeof arguments, "%s|%s", files[_i].option, path);
    if (files[_i].secret) {
        must_run(arguments, "");
        bool is_token = strcmp(files[_i].option, "--admin-token-file") == 0;
        ck_assert_str_eq(is_token ? options.admin_token : options.redis_password, files[_i].secret);
        options_free(&options);
    } else {
        must_fail(arguments, "", files[_i].words);
        CHECK_CONTAINS(err.text, path);
        if (*files[_i].content > ' ') ck_assert_ptr_null(strstr(err.text, files[_i].content));
    }
    unlink(path);
}
END_TEST

START_TEST(secrets_have_a_longest_length) {
    static const struct {
        const char *option;
        size_t max;
    } kinds[] = {{"--admin-token-file", 512}, {"--redis-password-file", 1024}};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        for (size_t extra = 0; extra < 3; extra++) {
            char content[1100], arguments[256];
            memset(content, 'x', sizeof content);
            content[kinds[i].max + extra] = '\n';
            write_file(content, kinds[i].max + extra + 1);
            snprintf(arguments, sizeof arguments, "%s|%s", kinds[i].option, path);
            if (extra == 0) {
                must_run(arguments, "");
                options_free(&options);
            } else {
                must_fail(arguments, "", "must be at most ");
            }
            unlink(path);
        }
    }
}
END_TEST

START_TEST(nul_in_a_secret_is_refused) {
    write_file("to\0ken", 6);
    char arguments[256];
    snprintf(arguments, sizeof arguments, "--admin-token-file|%s", path);
    must_fail(arguments, "", "printable ASCII");
    unlink(path);
}
END_TEST

START_TEST(which_secret_counts) {
    write_file("from-file\n", 10);
    char arguments[256], environment[256];
    snprintf(arguments, sizeof arguments, "--admin-token-file|%s|--redis-password-file|%s", path, path);
    must_run(arguments,
             "RATELIMITD_ADMIN_TOKEN=from-env|REDIS_PASSWORD=from-env|REDIS_URL=redis://:from-url@h");
    ck_assert_str_eq(options.admin_token, "from-file");
    ck_assert_str_eq(options.redis_password, "from-file");
    options_free(&options);
    must_run("", "RATELIMITD_ADMIN_TOKEN=from-env");
    ck_assert_str_eq(options.admin_token, "from-env");
    options_free(&options);
    snprintf(environment, sizeof environment,
             "RATELIMITD_ADMIN_TOKEN_FILE=%s|RATELIMITD_ADMIN_TOKEN=from-env", path);
    must_fail("", environment, "are both set");
    unlink(path);
}
END_TEST

START_TEST(secrets_are_not_for_the_command_line) {
    must_fail("--admin-token|x", "", "unknown option");
    must_fail("--redis-password|x", "", "unknown option");
    must_fail("--redis-url|redis://h", "", "unknown option");
}
END_TEST

/* No name, no value of an option is left out, and nobody has to scroll sideways. */
START_TEST(help_shows_all_in_100_columns) {
    static const char *const all[] = {"host",
                                      "port",
                                      "threads",
                                      "max-connections",
                                      "max-connections-per-ip",
                                      "tls-cert",
                                      "tls-key",
                                      "cors-origin",
                                      "redis-host",
                                      "redis-port",
                                      "redis-socket",
                                      "redis-db",
                                      "redis-user",
                                      "redis-password-file",
                                      "redis-timeout",
                                      "with-redis",
                                      "key-prefix",
                                      "algorithm",
                                      "config",
                                      "seed-config",
                                      "on-redis-error",
                                      "trusted-proxy",
                                      "gateway",
                                      "ipv6-prefix",
                                      "admin-token-file",
                                      "check-token-file",
                                      "denial-cache",
                                      "ratelimit-fields",
                                      "static-dir",
                                      "log-format",
                                      "log-level",
                                      "version",
                                      "help"};
    struct buf help = BUF_INIT(65536);
    options_help(&help);
    ck_assert(!help.overflow);
    const char *names[128];
    size_t count = 0;
    for (; count < COUNT(all); count++)
        names[count] = all[count];
    char spelled[64][32]; /* the parameters of all algorithms, each once */
    size_t params = 0;
    for (size_t a = 0; a < algorithm_count; a++) {
        for (size_t i = 0; i < algorithms[a]->param_count; i++) {
            char *name = spelled[params];
            snprintf(name, sizeof spelled[0], "%s", algorithms[a]->params[i].name);
            for (char *c = name; (c = strchr(c, '_'));)
                *c = '-';
            bool known = false;
            for (size_t k = COUNT(all); k < count; k++)
                known = known || strcmp(names[k], name) == 0;
            if (!known) names[count++] = spelled[params++];
        }
    }
    for (size_t i = 0; i < count; i++) {
        char row[64];
        snprintf(row, sizeof row, "\n  --%s ", names[i]);
        CHECK_CONTAINS(buf_str(&help), row);
    }
    size_t rows = 0;
    for (const char *line = buf_str(&help); *line; line = strchr(line, '\n') + 1) {
        size_t len = strcspn(line, "\n");
        ck_assert_msg(len <= 100, "%zu columns: %.*s", len, (int)len, line);
        ck_assert_msg(len == 0 || line[len - 1] != ' ', "space at the end: %.*s", (int)len, line);
        rows += strncmp(line, "  --", 4) == 0;
    }
    ck_assert_uint_eq(rows, count);
    static const char *const shown[] = {"[127.0.0.1]", "[8080]",     "[CPUs online]",         "[10000]",
                                        "[rl:]",       "[draft-11]", "RATELIMITD_REDIS_HOST", "REDIS_URL"};
    for (size_t i = 0; i < COUNT(shown); i++)
        CHECK_CONTAINS(buf_str(&help), shown[i]);
    buf_free(&help);
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
    tcase_add_test(tests, help_and_version);
    tcase_add_loop_test(tests, what_is_wrong_is_told_in_one_line, 0, COUNT(bad));
    tcase_add_test(tests, long_values_are_cut_in_words);
    tcase_add_loop_test(tests, where_redis_is, 0, COUNT(redis));
    tcase_add_loop_test(tests, a_bad_url_is_refused_without_repeating_it, 0, COUNT(bad_urls));
    tcase_add_loop_test(tests, secrets_in_files, 0, COUNT(files));
    tcase_add_test(tests, secrets_have_a_longest_length);
    tcase_add_test(tests, nul_in_a_secret_is_refused);
    tcase_add_test(tests, which_secret_counts);
    tcase_add_test(tests, secrets_are_not_for_the_command_line);
    tcase_add_test(tests, help_shows_all_in_100_columns);
    tcase_add_test(tests, any_algorithm_for_the_default_policy);
    tcase_add_test(tests, the_start_document);
    tcase_add_test(tests, no_arguments_at_all);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
