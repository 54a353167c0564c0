/* The log: its two forms, escapes that nobody can get out of, the cut, levels, and whole lines from many
 * threads. */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "config/json_check.h"
#include "unit.h"

enum { THREADS = 4, LINES = 500, OUTPUT_MAX = 1024 * 1024, LINE_LIMIT = 2048 };

/* stderr is a file: the one of the test at hand. */
static FILE *output;
static char text[OUTPUT_MAX];

static void redirect(void) {
    fflush(stderr);
    output = tmpfile();
    ck_assert_ptr_nonnull(output);
    ck_assert_int_ge(dup2(fileno(output), STDERR_FILENO), 0);
}

static const char *logged(void) {
    rewind(output);
    size_t len = fread(text, 1, sizeof text - 1, output);
    text[len] = '\0';
    return text;
}

/* What stands behind the time stamp, which is checked and skipped. */
static const char *behind_time(const char *line) {
    static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    for (size_t i = 0; i < sizeof shape - 1; i++) {
        bool digit = line[i] >= '0' && line[i] <= '9';
        ck_assert_msg(shape[i] == 'd' ? digit : line[i] == shape[i], "no time stamp: %s", line);
    }
    return line + sizeof shape - 1;
}

START_TEST(text_form) {
    redirect();
    log_setup(LOG_INFO, false);
    log_info("listening on %s, %d threads", "http://127.0.0.1:8080", 2);
    ck_assert_str_eq(behind_time(logged()), " INFO listening on http://127.0.0.1:8080, 2 threads\n");
}
END_TEST

START_TEST(json_form) {
    redirect();
    log_setup(LOG_INFO, true);
    log_warn("a \"quoted\" word");
    const char *line = logged();
    ck_assert_int_eq(strncmp(line, "{\"time\":\"", 9), 0);
    ck_assert_str_eq(behind_time(line + 9), "\",\"level\":\"warn\",\"message\":\"a \\\"quoted\\\" word\"}\n");
}
END_TEST

START_TEST(the_time_is_now) {
    redirect();
    log_setup(LOG_INFO, false);
    time_t before = time(NULL);
    log_info("x");
    time_t after = time(NULL);
    struct tm tm = {.tm_isdst = 0};
    ck_assert_ptr_nonnull(strptime(logged(), "%Y-%m-%dT%H:%M:%S", &tm));
    time_t told = timegm(&tm);
    ck_assert_int_ge(told, before - 1); /* time() may lag behind the finer clock by a tick */
    ck_assert_int_le(told, after + 1);
}
END_TEST

static const struct {
    const char *client, *as_text, *as_json;
} escapes[] = {
    {"plain ~ !", "plain ~ !", "plain ~ !"},
    {"a\nb", "a\\nb", "a\\\\nb"},
    {"a\r\tb", "a\\r\\tb", "a\\\\r\\\\tb"},
    {"\x1b[31m\x07\x7f", "\\x1b[31m\\x07\\x7f", "\\\\x1b[31m\\\\x07\\\\x7f"},
    {"\\n", "\\\\n", "\\\\\\\\n"}, /* not to be confused with an escaped newline */
    {"\xc3\xa9\xff", "\\xc3\\xa9\\xff", "\\\\xc3\\\\xa9\\\\xff"},
    {"\"}\n{\"level\":\"error", "\"}\\n{\"level\":\"error", "\\\"}\\\\n{\\\"level\\\":\\\"error"},
    {"%s%n%x", "%s%n%x", "%s%n%x"},
};

START_TEST(client_text_is_escaped_in_text) {
    redirect();
    log_setup(LOG_INFO, false);
    log_error("got %s.", escapes[_i].client);
    char expected[256];
    snprintf(expected, sizeof expected, " ERROR got %s.\n", escapes[_i].as_text);
    ck_assert_str_eq(behind_time(logged()), expected);
}
END_TEST

START_TEST(client_text_is_escaped_in_json) {
    redirect();
    log_setup(LOG_INFO, true);
    log_error("got %s.", escapes[_i].client);
    char expected[256];
    snprintf(expected, sizeof expected, "\",\"level\":\"error\",\"message\":\"got %s.\"}\n",
             escapes[_i].as_json);
    ck_assert_str_eq(behind_time(logged() + 9), expected);
    struct err err = ERR_INIT;
    ck_assert_msg(json_check(text, strlen(text), &err) == 0, "%s", err.text);
}
END_TEST

/* One byte repeated fills the line in every way an escape can end at its limit. */
START_TEST(long_lines_are_cut_between_escapes) {
    static const char bytes[] = "x\n\x01\"\\";
    for (int form = 0; form < 2; form++) {
        for (size_t i = 0; i + 1 < sizeof bytes; i++) {
            char client[4000];
            memset(client, bytes[i], sizeof client - 1);
            client[sizeof client - 1] = '\0';
            redirect();
            log_setup(LOG_INFO, form == 1);
            log_info("%s", client);
            size_t len = strlen(logged());
            ck_assert_uint_le(len, LINE_LIMIT);
            ck_assert_uint_gt(len, LINE_LIMIT - 64);
            ck_assert_ptr_eq(strchr(text, '\n'), text + len - 1);
            CHECK_CONTAINS(text + len - 8, "...");
            struct err err = ERR_INIT;
            if (form == 1) ck_assert_msg(json_check(text, len, &err) == 0, "%s", err.text);
        }
    }
}
END_TEST

START_TEST(levels_hold_back_what_is_below_them) {
    static const char *const expected[] = {"E", "EW", "EWI", "EWID"};
    for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
        redirect();
        log_setup((enum log_level)level, false);
        log_error("E");
        log_warn("W");
        log_info("I");
        log_debug("D");
        char seen[8] = "";
        for (const char *line = logged(); *line; line = strchr(line, '\n') + 1)
            strncat(seen, strchr(line, '\n') - 1, 1);
        ck_assert_str_eq(seen, expected[level]);
        ck_assert(log_enabled((enum log_level)level));
        ck_assert(level == LOG_DEBUG || !log_enabled((enum log_level)(level + 1)));
    }
}
END_TEST

START_TEST(errno_is_left_alone) {
    int stderr_kept = dup(STDERR_FILENO); /* without a process for each test the next one needs it */
    log_setup(LOG_INFO, false);
    close(STDERR_FILENO);
    errno = ENOENT;
    log_info("into nothing");
    int left = errno;
    dup2(stderr_kept, STDERR_FILENO);
    close(stderr_kept);
    ck_assert_int_eq(left, ENOENT);
}
END_TEST

static void *write_lines(void *arg) {
    const char *name = arg;
    for (int i = 0; i < LINES; i++)
        log_info("%c %d %0300d", *name, i, 0);
    return NULL;
}

START_TEST(lines_of_many_threads_stay_whole) {
    static char names[THREADS] = {'a', 'b', 'c', 'd'};
    pthread_t threads[THREADS];
    int next[THREADS] = {0};
    redirect();
    log_setup(LOG_INFO, false);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_lines, &names[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    const char *line = logged();
    for (int count = 0; count < THREADS * LINES; count++, line = strchr(line, '\n') + 1) {
        char name;
        int number;
        ck_assert_int_eq(sscanf(behind_time(line), " INFO %c %d", &name, &number), 2);
        ck_assert_int_eq(number, next[name - 'a']++);
    }
    ck_assert_int_eq(*line, '\0');
}
END_TEST

int main(void) {
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, text_form);
    tcase_add_test(tests, json_form);
    tcase_add_test(tests, the_time_is_now);
    tcase_add_loop_test(tests, client_text_is_escaped_in_text, 0, sizeof escapes / sizeof escapes[0]);
    tcase_add_loop_test(tests, client_text_is_escaped_in_json, 0, sizeof escapes / sizeof escapes[0]);
    tcase_add_test(tests, long_lines_are_cut_between_escapes);
    tcase_add_test(tests, levels_hold_back_what_is_below_them);
    tcase_add_test(tests, errno_is_left_alone);
    tcase_add_test(tests, lines_of_many_threads_stay_whole);
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
