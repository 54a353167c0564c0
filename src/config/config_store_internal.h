/* What the store's files share: its state, and a change on its way. For them alone. */
#ifndef RL_CONFIG_CONFIG_STORE_INTERNAL_H
#define RL_CONFIG_CONFIG_STORE_INTERNAL_H

#include <ev.h>
#include <pthread.h>
#include <sys/queue.h>

#include "config/config_redis.h"
#include "config/config_store.h"

struct store_change {
    STAILQ_ENTRY(store_change) next;
    struct config_store *store;
    struct config_change what; /* its text is owned */
    uint64_t if_match;
    config_done *done;
    void *arg, *caller;
    int64_t deadline_us;
    char nonce[CONFIG_NONCE_LEN + 1]; /* of what it writes, however often it tries */
    struct config_identity expected;  /* what its last write wanted to find */
    struct config *result;
    bool created;
    bool unsure; /* the reply to a write was lost */
    struct config_refusal why;
};

STAILQ_HEAD(change_queue, store_change);

struct config_store {
    struct ev_loop *loop;
    struct config_host host;
    struct config_redis *redis;
    const char *first_source, *file;
    void (*settled)(void *arg);
    void *settled_arg;
    bool is_settled;

    pthread_mutex_t lock; /* of the three below; `current` is written on the store's loop alone */
    struct config *current;
    struct change_queue queue;
    unsigned forgets_due;
    ev_async wake;

    /* The store's loop alone: */
    bool stopping;
    struct config *first;
    struct config_identity ours;  /* of `current`; without a nonce it is the start's and in no Redis */
    struct config_identity known; /* what is in Redis, as far as we know */
    bool deleted;                 /* `ours` is the mark of a deletion */
    bool refused;                 /* `known` is there and cannot be used; `ours` stays */
    struct config_refusal refusal;
    bool restoring, damage_told;
    bool looking, look_again;
    struct store_change *busy;
    ev_timer patience; /* ends the wait of `busy` */
};

/* --- config_store.c --- */

/* Puts `config` (taken) into force; `acked` may be NULL. */
void config_store_use(struct config_store *store, struct config *config, void (*acked)(void *arg), void *arg);

/* Makes what was seen in Redis ours, or gives back what it lost. */
void config_store_follow(struct config_store *store, const struct config_seen *seen);

/* --- config_store_change.c --- */

/* Takes up the next change of the queue, if none is being made. */
void config_store_next_change(struct config_store *store);

/* Redis can be asked (again). */
void config_store_resume_change(struct config_store *store);

void config_store_on_patience(struct ev_loop *loop, ev_timer *timer, int events);
void config_store_drop_change(struct store_change *change);

#endif
