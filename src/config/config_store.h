/* Where the configuration lives and changes: one store a process. A change is compared, applied, given a
 * version, and answered when every worker of this process uses it.
 *
 * Thread: config_store_change from any worker; `done` is called on the caller's loop. */
#ifndef RL_CONFIG_CONFIG_STORE_H
#define RL_CONFIG_CONFIG_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct config_store;

/* `config` is the snapshot now in force (borrowed for the call) or NULL with `why`. */
typedef void config_done(void *arg, struct config *config, bool created, const struct config_refusal *why);

/* Puts a snapshot into force on all workers, then calls `acked(arg)`, once, on the calling worker's loop.
 * Called in the order of versions and under the store's lock: it hands over and never waits. */
typedef void config_publish(void *publisher, struct config *config, void (*acked)(void *arg), void *arg);

struct config_store *config_store_new(struct config *first, config_publish *publish, void *publisher);
void config_store_free(struct config_store *store);

/* The newest snapshot, with a reference for the caller. */
struct config *config_store_current(struct config_store *store);

enum { CONFIG_ANY_VERSION = 0 };

/* `if_match`: the version it must still be (else 412), or CONFIG_ANY_VERSION. `change` is used during the
 * call only. A DELETE of the whole document puts the first snapshot's settings back. When nothing changes, or
 * on refusal, `done` is called before this returns. */
void config_store_change(struct config_store *store, const struct config_change *change, uint64_t if_match,
                         config_done *done, void *arg);

#endif
