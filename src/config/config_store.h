/* Where the configuration lives and changes: one store a process, and one document in Redis for all
 * processes.
 *
 * A change is applied to what is there, written by compare-and-set, and answered when every worker of this
 * process uses it. What other instances write is followed. With a file as the only source nothing is changed
 * here and nothing of Redis is used but signs of life.
 *
 * Thread: the store works on the loop it is given. What may be called from others says so. */
#ifndef RL_CONFIG_CONFIG_STORE_H
#define RL_CONFIG_CONFIG_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "redis/redis_link.h"

struct config_store;

/* How the store reaches the threads of the process. */
struct config_host {
    /* Puts a snapshot into force on all workers, then calls `acked(acked_arg)`, once, on any thread. Called
     * on the store's loop, in the order of versions; it hands over and never waits. */
    void (*publish)(void *arg, struct config *config, void (*acked)(void *acked_arg), void *acked_arg);
    void *(*caller)(void *arg); /* whose thread this is */
    void (*post)(void *arg, void *caller, void (*run)(void *run_arg),
                 void *run_arg); /* runs it there. Any thread */
    /* Another number of instances is alive on this Redis and prefix. On the store's loop; may be NULL. */
    void (*counted)(void *arg, unsigned instances);
    void *arg;
};

struct config_store_settings {
    struct config *first;     /* the settings of the start; referenced */
    const char *first_source; /* what gave them, for the log: "--capacity" */
    const char *file;         /* the only source; NULL: Redis is */
    struct ev_loop *loop;
    const struct redis_settings *redis; /* outlives the store */
    const char *key_prefix;
    struct config_host host;
    /* Called once, on any thread: the workers use what Redis holds, or Redis cannot be asked now. */
    void (*settled)(void *arg);
    void *settled_arg;
};

struct config_store *config_store_new(const struct config_store_settings *settings);
/* What is under way is dropped. The workers are gone. NULL is fine. */
void config_store_free(struct config_store *store);

/* The newest snapshot, with a reference for the caller. Any thread. */
struct config *config_store_current(struct config_store *store);

enum { CONFIG_ANY_VERSION = 0 };

/* `config` is the snapshot now in force (borrowed for the call) or NULL with `why`. On the caller's loop. */
typedef void config_done(void *arg, struct config *config, bool created, const struct config_refusal *why);

/* `if_match`: the version it must still be (else 412), or CONFIG_ANY_VERSION. `change` is used during the
 * call only. A DELETE of the whole document takes it out of Redis: all instances go back to the settings of
 * their starts. Any worker; `done` is called later, within five seconds. */
void config_store_change(struct config_store *store, const struct config_change *change, uint64_t if_match,
                         config_done *done, void *arg);

/* Other settings of the start: the file was read again. In force at once if the file is the only source. */
void config_store_replace_first(struct config_store *store, struct config *first);

/* A client's state was deleted: all instances are to forget what they remember of it. Any thread. */
void config_store_forget(struct config_store *store);

/* How often that was said on this Redis. It differs after each time, and after a loss. Any thread. */
uint64_t config_store_forgets(const struct config_store *store);

/* Monotonic time at which the last successful look at Redis began; 0: never. Any thread. */
int64_t config_store_looked_us(const struct config_store *store);

/* Instances alive on this Redis and prefix when it last answered, this one included. Any thread. */
unsigned config_store_instances(const struct config_store *store);

#endif
