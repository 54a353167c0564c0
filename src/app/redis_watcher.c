/* Runs redis-server as a child, ends it with the pipe, removes the directory. It answers nobody and restarts
 * nothing.
 *
 * It is a fork of the whole program without its threads: system calls and plain libc only, no log, no err. */
#include "app/redis_watcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIFE_FD = 3, REPORT_FD = 4, FIRST_OTHER_FD = 5, STOP_MS = 3000 };

static void report(enum watcher_said said, int value) {
    struct watcher_report message = {.said = said, .value = value};
    if (write(REPORT_FD, &message, sizeof message) < 0) return; /* nobody is left to read it */
}

/* Signals as a new program expects them. */
static void reset_signals(void) {
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Redis needs none of what we were told in secret. */
static void forget_secrets(void) {
    static const char *const names[] = {"RATELIMITD_ADMIN_TOKEN", "RATELIMITD_CHECK_TOKEN", "REDIS_PASSWORD",
                                        "REDIS_URL"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

static _Noreturn void become_server(const char *dir, const char *socket_path, const char *log_path,
                                    pid_t parent) {
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it died before we asked to be told */
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log >= 0) {
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
    }
    close_range(LIFE_FD, ~0U, CLOSE_RANGE_CLOEXEC);
    forget_secrets();
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_path, "--unixsocketperm",
           "700", "--save", "", "--appendonly", "no", "--dir", dir, "--daemonize", "no", "--loglevel",
           "warning", (char *)NULL);
    report(WATCHER_NO_EXEC, errno);
    _exit(127);
}

/* Only what we need stays open: not the port of the program, nor the terminal or the pipes of who started it.
 */
static void keep_only(int life, int report_to) {
    int null = open("/dev/null", O_RDWR);
    int high_life = fcntl(life, F_DUPFD, FIRST_OTHER_FD),
        high_report = fcntl(report_to, F_DUPFD, FIRST_OTHER_FD);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    dup2(high_life, LIFE_FD);
    dup2(high_report, REPORT_FD);
    close_range(FIRST_OTHER_FD, ~0U, 0);
    fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC);
    fcntl(LIFE_FD, F_SETFD, FD_CLOEXEC);
}

/* SIGCHLD as something to poll; what ends other programs does not end us before our work is done. */
static int watch_signals(void) {
    sigset_t child;
    reset_signals();
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    return signalfd(-1, &child, SFD_CLOEXEC);
}

/* True when the server is gone, false when the time is over or `life` ended first (life >= 0). */
static bool wait_for_end(pid_t server, int children, int life, int timeout_ms) {
    struct pollfd fds[2] = {{.fd = children, .events = POLLIN}, {.fd = life, .events = POLLIN}};
    int status;
    for (;;) {
        if (waitpid(server, &status, WNOHANG) == server) {
            report(WATCHER_ENDED, status);
            return true;
        }
        if (poll(fds, 2, timeout_ms) == 0) return false;
        if (fds[1].revents) return false;
        struct signalfd_siginfo info;
        if (fds[0].revents && read(children, &info, sizeof info) < 0) return false;
    }
}

static void remove_directory(const char *path) {
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir) closedir(dir);
    rmdir(path);
}

_Noreturn void redis_watcher_run(const char *dir, const char *socket_path, const char *log_path, int life,
                                 int report_to) {
    char byte;
    keep_only(life, report_to);
    setsid(); /* Ctrl-C is for the program; the server stops when the program is done with it */
    prctl(PR_SET_NAME, "redis-watcher");
    int children = watch_signals();
    pid_t self = getpid(), server = fork();
    if (server == 0) become_server(dir, socket_path, log_path, self);
    if (server > 0) report(WATCHER_STARTED, server);
    if (server < 0) report(WATCHER_NO_EXEC, errno);

    bool gone = server < 0 || wait_for_end(server, children, LIFE_FD, -1);
    while (gone && read(LIFE_FD, &byte, 1) < 0 && errno == EINTR)
        continue; /* the log is still wanted */
    if (!gone) {
        kill(server, SIGTERM);
        if (!wait_for_end(server, children, -1, STOP_MS)) {
            kill(server, SIGKILL);
            waitpid(server, NULL, 0);
        }
    }
    remove_directory(dir);
    _exit(0);
}
