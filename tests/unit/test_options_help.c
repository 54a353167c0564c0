/* --help and --version. */
#include "options_tests.h"

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

/* No name, no value of an option is left out, and nobody has to scroll sideways. */
START_TEST(help_shows_all_in_100_columns) {
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

int main(void) {
    Suite *suite = suite_create("options_help");
    TCase *tests = tcase_create("options_help");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, help_and_version);
    tcase_add_test(tests, help_shows_all_in_100_columns);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
