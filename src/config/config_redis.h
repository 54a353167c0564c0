/* The configuration's place in Redis: asked twice a second and whenever somebody publishes, written by
 * compare-and-set. With it goes a sign of life, by which instances are counted.
 *
 * It knows identities and texts; what a document says is config_store's. One thread: the loop's. */
#ifndef RL_CONFIG_CONFIG_REDIS_H
#define RL_CONFIG_CONFIG_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/redis_link.h"

enum { CONFIG_NONCE_LEN = 32 };

/* Whose document it is. Two documents of one version differ by nonce. {0, ""}: nobody's, nothing is there. */
struct config_identity {
    uint64_t version;
    char nonce[CONFIG_NONCE_LEN + 1];
};

bool config_identity_same(const struct config_identity *a, const struct config_identity *b);
void config_nonce_make(char nonce[CONFIG_NONCE_LEN + 1]); /* random */

struct config_seen { /* what is in Redis; valid during the call */
    struct config_identity identity;
    bool damaged;         /* a field is missing or makes no sense: as good as nothing */
    const char *document; /* NULL if it is the one that was known; "": it was deleted */
    size_t document_len;
};

enum config_answer {
    CONFIG_SEEN, /* `seen` is there; for a write: instead of what was expected, so nothing was written */
    CONFIG_WRITTEN,
    CONFIG_FAILED, /* nothing was done; `why` says in words why not */
    CONFIG_UNKNOWN /* the reply was lost: a write may have been done or may yet be */
};

typedef void config_answered(void *arg, enum config_answer answer, const struct config_seen *seen,
                             const char *why);

struct config_redis;

struct config_redis_settings {
    struct ev_loop *loop;
    const struct redis_settings *redis; /* outlives it */
    const char *key_prefix;
    bool follows; /* the document there; else only clients that others forgot, and signs of life */
};

struct config_redis_events {
    /* Something may have changed (polled, published, connected): read. */
    void (*look)(void *arg);
    /* There is no connection; told on the way out and, while it is down, for each new reason. */
    void (*away)(void *arg);
    /* Another number of instances is alive. */
    void (*counted)(void *arg, unsigned instances);
};

struct config_redis *config_redis_new(const struct config_redis_settings *settings,
                                      const struct config_redis_events *events, void *arg);
void config_redis_free(struct config_redis *redis); /* pending calls are answered first. NULL is fine */

/* The hash's key, for words. */
const char *config_redis_key(const struct config_redis *redis);

/* What is there? `known` need not be sent again. Answered once, possibly before this returns. */
void config_redis_read(struct config_redis *redis, const struct config_identity *known, config_answered *done,
                       void *arg);

/* Puts document `next` in the place of `expected`, if that is still there, and tells all who listen. */
void config_redis_write(struct config_redis *redis, const struct config_identity *expected,
                        const struct config_identity *next, const char *document, size_t document_len,
                        config_answered *done, void *arg);

/* Counts `forgets` one up and tells all who listen. */
void config_redis_forget(struct config_redis *redis);

/* Any thread. */
unsigned
config_redis_instances(const struct config_redis *redis); /* alive at the last sign of life, 1 at least */
uint64_t config_redis_forgets(const struct config_redis *redis);
int64_t config_redis_read_us(const struct config_redis *redis); /* monotonic time at which the last successful
                                                                   read was asked; 0: never */

#endif
