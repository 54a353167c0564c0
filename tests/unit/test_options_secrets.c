/* Tokens and passwords: from files and the environment, never from the command line, never told. */
#include <unistd.h>

#include "options_tests.h"

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

int main(void) {
    Suite *suite = suite_create("options_secrets");
    TCase *tests = tcase_create("options_secrets");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, secrets_in_files, 0, COUNT(files));
    tcase_add_test(tests, secrets_have_a_longest_length);
    tcase_add_test(tests, nul_in_a_secret_is_refused);
    tcase_add_test(tests, which_secret_counts);
    tcase_add_test(tests, secrets_are_not_for_the_command_line);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
