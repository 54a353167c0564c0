/* The private redis-server: there when start returns, gone with its directory however we end. */
#include "app/embedded_redis.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit/unit.h"

enum { SOON_MS = 5000 };

static struct err err;

static struct embedded_redis *start(void) {
    err = (struct err)ERR_INIT;
    struct embedded_redis *redis = embedded_redis_start(&err);
    ck_assert_msg(redis != NULL, "%s", err.text);
    return redis;
}

static bool exists(const char *path) {
    struct stat is;
    return stat(path, &is) == 0;
}

/* Is there such a process, other than as a zombie that nobody collected? */
static bool runs(pid_t pid) {
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "r");
    if (!stat) return false;
    if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = 'Z';
    fclose(stat);
    return state != 'Z';
}

static void nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void check_gone(pid_t pid, const char *socket) {
    char dir[128];
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(socket, '/') - socket), socket);
    for (int i = 0; i < SOON_MS / 10 && (runs(pid) || exists(dir)); i++)
        nap();
    ck_assert_msg(!runs(pid), "redis-server %d still runs", (int)pid);
    ck_assert_msg(!exists(dir), "%s is still there", dir);
}

START_TEST(answers_when_start_returns) {
    struct embedded_redis *redis = start();
    char socket[128];
    struct stat is;
    snprintf(socket, sizeof socket, "%s", embedded_redis_socket(redis));
    pid_t pid = embedded_redis_pid(redis);
    redisContext *context = redisConnectUnix(socket);
    redisReply *reply = redisCommand(context, "CONFIG GET save");
    ck_assert_int_eq(reply->elements, 2);
    ck_assert_str_eq(reply->element[1]->str, "");
    freeReplyObject(reply);
    redisFree(context);
    ck_assert_int_eq(stat(socket, &is), 0);
    ck_assert_int_eq(is.st_mode & 0777, 0700);
    *strrchr(socket, '/') = '\0';
    ck_assert_int_eq(stat(socket, &is), 0);
    ck_assert_int_eq(is.st_mode & 0777, 0700);
    strcat(socket, "/x");
    ck_assert_int_ne(getpgid(pid), getpgrp()); /* Ctrl-C is not for it */
    embedded_redis_stop(redis);
    ck_assert(!runs(pid)); /* at once: stop has waited */
    check_gone(pid, socket);
}
END_TEST

START_TEST(two_do_not_meet) {
    struct embedded_redis *one = start(), *two = start();
    ck_assert_str_ne(embedded_redis_socket(one), embedded_redis_socket(two));
    embedded_redis_stop(one);
    ck_assert(exists(embedded_redis_socket(two)));
    ck_assert(runs(embedded_redis_pid(two)));
    embedded_redis_stop(two);
    embedded_redis_stop(NULL);
}
END_TEST

/* A program that has it and ends by `how` (0: it just exits): nothing may be left. */
static void check_end(int how) {
    struct {
        pid_t pid;
        char socket[120];
    } told;
    int told_by[2];
    ck_assert_int_eq(pipe(told_by), 0);
    pid_t program = fork();
    if (program == 0) {
        if (how) signal(how, SIG_DFL); /* not the handler of the test framework */
        struct embedded_redis *redis = embedded_redis_start(NULL);
        told.pid = redis ? embedded_redis_pid(redis) : 0;
        snprintf(told.socket, sizeof told.socket, "%s", redis ? embedded_redis_socket(redis) : "");
        if (write(told_by[1], &told, sizeof told) != (ssize_t)sizeof told || how == 0) _exit(0);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(told_by[0], &told, sizeof told), sizeof told);
    ck_assert_int_gt(told.pid, 0);
    if (how) {
        ck_assert(runs(told.pid));
        ck_assert(exists(told.socket));
        kill(program, how);
    }
    waitpid(program, NULL, 0);
    check_gone(told.pid, told.socket);
    close(told_by[0]);
    close(told_by[1]);
}

START_TEST(goes_with_us) {
    static const int ends[] = {SIGKILL, SIGTERM, SIGSEGV, 0};
    check_end(ends[_i]);
}
END_TEST

/* After this signal it is stopped as ever, and nothing is left. */
static void stop_after(int signal) {
    struct embedded_redis *redis = start();
    char socket[128];
    snprintf(socket, sizeof socket, "%s", embedded_redis_socket(redis));
    pid_t pid = embedded_redis_pid(redis);
    kill(pid, signal);
    for (int i = 0; signal == SIGKILL && i < SOON_MS / 10 && runs(pid); i++)
        nap();
    embedded_redis_stop(redis);
    check_gone(pid, socket);
}

START_TEST(its_death_does_not_keep_us) {
    stop_after(SIGKILL);
}
END_TEST

START_TEST(a_stopped_one_is_ended_all_the_same) {
    stop_after(SIGSTOP);
}
END_TEST

START_TEST(says_what_to_do_without_redis_server) {
    char path[4096];
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    err = (struct err)ERR_INIT;
    struct embedded_redis *redis = embedded_redis_start(&err);
    setenv("PATH", path, 1);
    ck_assert_ptr_null(redis);
    CHECK_CONTAINS(err.text, "redis-server is not installed");
    CHECK_CONTAINS(err.text, "--redis-host");
}
END_TEST

/* A redis-server that cannot run: its own last words are passed on. */
START_TEST(says_why_redis_server_stopped) {
    char dir[] = "/tmp/rl-test-XXXXXX", program[64], path[4200];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(program, sizeof program, "%s/redis-server", dir);
    FILE *script = fopen(program, "w");
    fputs("#!/bin/sh\necho some line\necho 'Bad directive' >&2\nexit 1\n", script);
    fchmod(fileno(script), 0700);
    fclose(script);
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", dir, 1);
    err = (struct err)ERR_INIT;
    struct embedded_redis *redis = embedded_redis_start(&err);
    setenv("PATH", path, 1);
    unlink(program);
    rmdir(dir);
    ck_assert_ptr_null(redis);
    CHECK_CONTAINS(err.text, "Bad directive");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("embedded_redis");
    TCase *tcase = tcase_create("child");
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, answers_when_start_returns);
    tcase_add_test(tcase, two_do_not_meet);
    tcase_add_loop_test(tcase, goes_with_us, 0, 4);
    tcase_add_test(tcase, its_death_does_not_keep_us);
    tcase_add_test(tcase, a_stopped_one_is_ended_all_the_same);
    tcase_add_test(tcase, says_what_to_do_without_redis_server);
    tcase_add_test(tcase, says_why_redis_server_stopped);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
