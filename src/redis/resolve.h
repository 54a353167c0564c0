/* Looks a host name up off the loop: getaddrinfo may block for seconds, and nobody else may wait for it.
 *
 * One thread for each look-up; the answer comes as a callback on the loop's thread. Private to redis/. */
#ifndef RL_REDIS_RESOLVE_H
#define RL_REDIS_RESOLVE_H

#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

enum { ADDRESSES_MAX = 8 };

struct addresses {
    size_t count;
    struct {
        struct sockaddr_storage at;
        socklen_t len;
    } list[ADDRESSES_MAX];
};

struct ev_loop;
struct resolve;

typedef void resolve_done(void *arg, const struct addresses *found,
                          const char *error); /* found->count > 0, or error */

/* Addresses that need no look-up: a numeric host, a Unix socket. -1 with words if it is none. */
int resolve_numeric(const char *host, int port, struct addresses *found);
int resolve_unix(const char *path, struct addresses *found, struct err *err);

/* Begins a look-up. `host` is copied. NULL with words if no thread can be started. */
struct resolve *resolve_start(struct ev_loop *loop, const char *host, int port, resolve_done *done, void *arg,
                              struct err *err);

/* Forgets a look-up whose answer has not come; its thread ends by itself. NULL is fine. */
void resolve_cancel(struct resolve *resolve);

#endif
