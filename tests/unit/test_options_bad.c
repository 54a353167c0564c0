/* What is wrong on the command line or in the environment: one line that names it and tells what is allowed.
 */
#include "options_tests.h"

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

int main(void) {
    Suite *suite = suite_create("options_bad");
    TCase *tests = tcase_create("options_bad");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, what_is_wrong_is_told_in_one_line, 0, COUNT(bad));
    tcase_add_test(tests, long_values_are_cut_in_words);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
