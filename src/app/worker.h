/* One worker: a thread with its own loop, HTTP daemon, Redis link, limiter and configuration snapshot. Shares
 * nothing. */
#ifndef RL_APP_WORKER_H
#define RL_APP_WORKER_H

#include <sys/socket.h>

#include "base/err.h"
#include "config/config_store.h"
#include "http/services.h"
#include "redis/redis_link.h"

struct admission;
struct worker;

struct worker_settings { /* outlives the worker */
    const struct redis_settings *redis;
    struct local_limiter *local; /* the process's: decides when Redis does not */
    const char *key_prefix;
    bool denial_cache;
    struct services services; /* limiter and config are filled by the worker */
    unsigned max_connections;
    struct admission *admission; /* is told when a connection is gone */
    bool tls;
    void (*settled)(
        void *arg); /* called once a worker, on its thread, when its Redis link is ready or has failed */
    void *settled_arg;
};

/* Makes the worker and starts its thread. `first` is referenced. NULL with words if it cannot start. */
struct worker *worker_start(int index, const struct worker_settings *settings, struct config *first,
                            struct err *err);

/* Runs fn(worker, arg) on the worker's thread. Any thread. */
typedef void worker_task(struct worker *worker, void *arg);
void worker_post(struct worker *worker, worker_task *task, void *arg);

const struct services *worker_services(const struct worker *worker); /* for tasks, on its thread */

struct worker *worker_current(void); /* the worker whose thread this is; NULL elsewhere */

/* Hands it a connected socket; `reserved` as in http_add_connection. Any thread. */
void worker_accept(struct worker *worker, int fd, const struct sockaddr *address, socklen_t address_len,
                   bool reserved);
unsigned worker_connections(const struct worker *worker); /* open or on their way; any thread */

/* On the worker's own thread (as a task): use this snapshot from now on. Takes a reference. */
void worker_adopt(struct worker *worker, struct config *config);

/* Begins an orderly stop: every answer closes its connection from now on. When nothing is in flight any more,
 * after `grace_ms` at the latest, calls drained(worker, arg) on the worker's thread. Any thread. */
void worker_drain(struct worker *worker, int grace_ms, worker_task *drained, void *arg);

/* Ends the thread and waits for it. What still waits is answered first. Another thread. */
void worker_finish(struct worker *worker);
void worker_free(struct worker *worker); /* when all have finished: until then they may post to each other */

#endif
