/* Starts, stops and asks a private redis-server for tests. Tests nothing itself. */
#include "unit/private_redis.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { READY_TRIES = 1000, WORDS_MAX = 16 };

static void give_up(const char *what) {
    fprintf(stderr, "private redis-server: %s: %s\n", what, strerror(errno));
    exit(1);
}

int free_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        give_up("no free port");
    close(fd);
    return ntohs(at.sin_port);
}

static void become_server(const struct private_redis *redis) {
    char port[8];
    snprintf(port, sizeof port, "%d", redis->port);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--unixsocket",
           redis->socket, "--save", "", "--appendonly", "no", "--dir", redis->dir, "--requirepass",
           redis->password ? redis->password : "", (char *)NULL);
    _exit(127);
}

struct redisContext *private_redis_connect(const struct private_redis *redis) {
    redisContext *context = redisConnectUnix(redis->socket);
    if (context && !context->err && redis->password)
        freeReplyObject(redisCommand(context, "AUTH %s", redis->password));
    return context;
}

static int answers(const struct private_redis *redis) {
    redisContext *context = private_redis_connect(redis);
    redisReply *reply = context && !context->err ? redisCommand(context, "PING") : NULL;
    int good = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    redisFree(context);
    return good;
}

void private_redis_restart(struct private_redis *redis) {
    redis->pid = fork();
    if (redis->pid < 0) give_up("fork");
    if (redis->pid == 0) become_server(redis);
    for (int i = 0; i < READY_TRIES; i++) {
        if (answers(redis)) return;
        if (waitpid(redis->pid, NULL, WNOHANG) != 0) break;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    give_up("it does not answer");
}

void private_redis_start(struct private_redis *redis, const char *password, int with_port) {
    memset(redis, 0, sizeof *redis);
    redis->password = password;
    redis->port = with_port ? free_port() : 0;
    snprintf(redis->dir, sizeof redis->dir, "/tmp/rl-test-XXXXXX");
    if (!mkdtemp(redis->dir)) give_up("mkdtemp");
    snprintf(redis->socket, sizeof redis->socket, "%s/redis.sock", redis->dir);
    private_redis_restart(redis);
}

void private_redis_kill(struct private_redis *redis) {
    if (redis->pid <= 0) return;
    kill(redis->pid, SIGKILL);
    waitpid(redis->pid, NULL, 0);
    unlink(redis->socket);
    redis->pid = 0;
}

void private_redis_stop(struct private_redis *redis) {
    private_redis_kill(redis);
    rmdir(redis->dir);
}

long long private_redis_do(struct private_redis *redis, const char *word, ...) {
    const char *words[WORDS_MAX];
    int count = 0;
    va_list args;
    va_start(args, word);
    for (; word && count < WORDS_MAX; word = va_arg(args, const char *))
        words[count++] = word;
    va_end(args);
    redisContext *context = private_redis_connect(redis);
    redisReply *reply = context && !context->err ? redisCommandArgv(context, count, words, NULL) : NULL;
    long long answer = reply && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    freeReplyObject(reply);
    redisFree(context);
    return answer;
}
