/* The private redis-server of --with-redis: a child on a Unix socket in a private directory, gone when we go.
 */
#ifndef RL_APP_EMBEDDED_REDIS_H
#define RL_APP_EMBEDDED_REDIS_H

#include <sys/types.h>

#include "base/err.h"

struct embedded_redis;

/* Starts redis-server (from PATH) and waits until its socket answers PING, 5 s at most. The child dies with
 * this process however it ends (also on SIGKILL). NULL with words that say what to do if redis-server is not
 * installed. */
struct embedded_redis *embedded_redis_start(struct err *err);
const char *embedded_redis_socket(const struct embedded_redis *redis);
pid_t embedded_redis_pid(const struct embedded_redis *redis);
void embedded_redis_stop(
    struct embedded_redis *redis); /* ends the child, removes the directory; NULL is fine */

#endif
