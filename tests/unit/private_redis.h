/* A redis-server of a test's own, on a Unix socket in a directory of its own. It goes with the test process.
 */
#ifndef RL_TESTS_PRIVATE_REDIS_H
#define RL_TESTS_PRIVATE_REDIS_H

#include <sys/types.h>

struct redisContext;

struct private_redis {
    char dir[48];
    char socket[80];
    int port; /* on 127.0.0.1; 0: none */
    const char *password;
    pid_t pid; /* 0: not running */
};

/* Start, with a password (NULL: none) or on a free TCP port as well. Ends the test if it cannot. Waits for
 * PING. */
void private_redis_start(struct private_redis *redis, const char *password, int with_port);
void private_redis_kill(struct private_redis *redis);    /* by SIGKILL; the directory stays */
void private_redis_restart(struct private_redis *redis); /* after a kill: empty, at the same place */
void private_redis_stop(struct private_redis *redis);    /* kills, removes the directory */

/* One command by words ("SET", "k", "v", NULL), answered as an integer: the reply's number, or -1 for
 * anything else. */
long long private_redis_do(struct private_redis *redis, const char *word, ...) __attribute__((sentinel));

/* A blocking connection, authenticated. The caller frees it by redisFree. */
struct redisContext *private_redis_connect(const struct private_redis *redis);

/* A port of 127.0.0.1 on which nobody listens now. */
int free_port(void);

#endif
