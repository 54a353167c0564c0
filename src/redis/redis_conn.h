/* Keeps one usable connection to Redis: resolves, connects, authenticates, loads scripts, and begins again
 * with back-off when it is lost. It knows no commands but its own and no deadlines of commands. Private to
 * redis/.
 *
 *   DOWN -> RESOLVING -> CONNECTING -> AUTHENTICATING -> LOADING_SCRIPTS -> READY -> DOWN ... */
#ifndef RL_REDIS_REDIS_CONN_H
#define RL_REDIS_REDIS_CONN_H

#include "redis/redis_link.h"

struct redis_conn;

struct redis_conn_events {
    void (*ready)(void *arg);
    void (*lost)(void *arg, const char *why);   /* it was ready and no longer is */
    void (*failed)(void *arg, const char *why); /* an attempt to become ready failed */
    void (*reply)(void *arg,
                  const struct redis_value *value); /* while ready; in the order of what was sent */
};

/* The first attempt begins at once, on the loop. Settings, scripts and `events` outlive it. */
struct redis_conn *redis_conn_new(struct ev_loop *loop, const struct redis_settings *settings,
                                  const struct redis_script *const *scripts, size_t script_count,
                                  const struct redis_conn_events *events, void *arg);
void redis_conn_free(struct redis_conn *conn); /* tells no event */

enum redis_state redis_conn_state(const struct redis_conn *conn);

/* Queues bytes. False if it is not ready or too much waits. */
bool redis_conn_send(struct redis_conn *conn, const void *data, size_t len);
bool redis_conn_flush(struct redis_conn *conn); /* true if it called write */
void redis_conn_poll(struct redis_conn *conn);  /* reads what has arrived */

/* Gives the connection up (it answers nonsense, or nothing) and begins again. Tells `lost` if it was ready.
 */
void redis_conn_drop(struct redis_conn *conn, const char *why);

#endif
