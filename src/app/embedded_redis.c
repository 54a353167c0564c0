/* Our side of the private redis-server: its directory, its start, its end. Speaks no more Redis than PING.
 *
 * A server that dies while we run is not started again: what it held is lost, requests are answered as in any
 * outage of Redis, and the log says so. Somebody who wants more wants a Redis of his own. */
#include "app/embedded_redis.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/redis_watcher.h"
#include "base/clock.h"
#include "base/xmalloc.h"

enum { START_US = 5000000, LOOK_EVERY_MS = 5, ANSWER_MS = 200 };

struct embedded_redis {
    char dir[PATH_MAX];
    struct sockaddr_un at; /* of its socket */
    char log[PATH_MAX];
    pid_t watcher, server;
    int life;   /* we hold it open; the watcher waits for its end */
    int report; /* what the watcher says; ends with it */
};

const char *embedded_redis_socket(const struct embedded_redis *redis) {
    return redis->at.sun_path;
}

pid_t embedded_redis_pid(const struct embedded_redis *redis) {
    return redis->server;
}

/* --- directory --- */

static bool make_directory(struct embedded_redis *redis, const char *parent) {
    if (!parent || parent[0] != '/') return false;
    int len = snprintf(redis->dir, sizeof redis->dir, "%s/ratelimitd-XXXXXX", parent);
    if (len < 0 || (size_t)len >= sizeof redis->at.sun_path - sizeof "/redis.sock") return false;
    return mkdtemp(redis->dir) != NULL; /* mode 0700 */
}

static int make_place(struct embedded_redis *redis, struct err *err) {
    if (!make_directory(redis, getenv("XDG_RUNTIME_DIR")) && !make_directory(redis, getenv("TMPDIR")) &&
        !make_directory(redis, "/tmp"))
        return err_set(err, "cannot make a directory for redis-server under /tmp: %s", strerror(errno));
    redis->at.sun_family = AF_UNIX;
    snprintf(redis->at.sun_path, sizeof redis->at.sun_path, "%.90s/redis.sock", redis->dir);
    snprintf(redis->log, sizeof redis->log, "%.90s/redis.log", redis->dir);
    return 0;
}

/* --- start --- */

static int start_watcher(struct embedded_redis *redis, struct err *err) {
    int life[2], report[2];
    if (pipe2(life, O_CLOEXEC) != 0) return err_set(err, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(report, O_CLOEXEC) != 0) {
        err_set(err, "cannot make a pipe: %s", strerror(errno));
        close(life[0]);
        close(life[1]);
        return -1;
    }
    redis->watcher = fork();
    if (redis->watcher == 0) {
        close(life[1]);
        redis_watcher_run(redis->dir, redis->at.sun_path, redis->log, life[0], report[1]);
    }
    close(life[0]);
    close(report[1]);
    redis->life = life[1];
    redis->report = report[0];
    return redis->watcher > 0 ? 0 : err_set(err, "cannot fork: %s", strerror(errno));
}

static bool answers_ping(const struct embedded_redis *redis) {
    char answer[8] = "";
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    bool answered = connect(fd, (const struct sockaddr *)&redis->at, sizeof redis->at) == 0 &&
                    send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6 && poll(&ready, 1, ANSWER_MS) == 1 &&
                    recv(fd, answer, sizeof answer - 1, 0) > 0 && strncmp(answer, "+PONG", 5) == 0;
    close(fd);
    return answered;
}

/* The last line that redis-server wrote, which says why it stopped. */
static void last_words(const struct embedded_redis *redis, struct err *err) {
    char line[256], last[256] = "it wrote nothing";
    FILE *log = fopen(redis->log, "re");
    while (log && fgets(line, sizeof line, log)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0]) snprintf(last, sizeof last, "%s", line);
    }
    if (log) fclose(log);
    err_set(err, "redis-server stopped at once: %s", last);
}

/* Takes what the watcher says within a moment. -1 with words if there will be no server. */
static int hear(struct embedded_redis *redis, struct err *err) {
    struct watcher_report report;
    struct pollfd ready = {.fd = redis->report, .events = POLLIN};
    if (poll(&ready, 1, LOOK_EVERY_MS) <= 0) return 0;
    if (read(redis->report, &report, sizeof report) != (ssize_t)sizeof report)
        return err_set(err, "the process that starts redis-server ended");
    if (report.said == WATCHER_STARTED) redis->server = report.value;
    if (report.said == WATCHER_NO_EXEC && report.value == ENOENT)
        return err_set(
            err, "redis-server is not installed (not in PATH): install it (apt install redis-server), or "
                 "name a Redis that runs by --redis-host in place of --with-redis");
    if (report.said == WATCHER_NO_EXEC)
        return err_set(err, "cannot run redis-server: %s", strerror(report.value));
    if (report.said == WATCHER_ENDED) {
        last_words(redis, err);
        return -1;
    }
    return 0;
}

static int wait_until_ready(struct embedded_redis *redis, struct err *err) {
    int64_t end = clock_mono_us() + START_US;
    while (clock_mono_us() < end) {
        if (hear(redis, err) != 0) return -1;
        if (redis->server > 0 && answers_ping(redis)) return 0;
    }
    return err_set(err, "redis-server did not answer within %d s", START_US / 1000000);
}

struct embedded_redis *embedded_redis_start(struct err *err) {
    struct embedded_redis *redis = xcalloc(1, sizeof *redis);
    redis->life = redis->report = -1;
    if (make_place(redis, err) != 0) {
        free(redis);
        return NULL;
    }
    if (start_watcher(redis, err) == 0 && wait_until_ready(redis, err) == 0) return redis;
    embedded_redis_stop(redis);
    return NULL;
}

/* --- end --- */

void embedded_redis_stop(struct embedded_redis *redis) {
    if (!redis) return;
    struct watcher_report report;
    if (redis->life >= 0) close(redis->life);
    if (redis->report >= 0) { /* ends when the watcher has tidied up, whoever collects its status */
        while (read(redis->report, &report, sizeof report) > 0 || errno == EINTR)
            errno = 0;
        close(redis->report);
    }
    if (redis->watcher > 0) {
        while (waitpid(redis->watcher, NULL, 0) < 0 && errno == EINTR)
            continue;
    } else {
        rmdir(redis->dir); /* nobody else will */
    }
    free(redis);
}
