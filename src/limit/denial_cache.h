/* Denials that Redis would certainly repeat, so that a client who hammers at an empty bucket costs Redis
 * nothing.
 *
 * Kept is a denial by Redis under which a cost of 1 is denied too: until `wait_one_us` has passed since it
 * was asked for, nobody takes anything from the key, so its state stands still, and the same request is
 * denied again. Bounded: a full set of entries gives up the one that ends first. Time is passed in. One
 * worker, one thread.
 *
 * What nobody announces (a key deleted by hand, evicted, lost in a failover) it may miss for up to a second.
 */
#ifndef RL_LIMIT_DENIAL_CACHE_H
#define RL_LIMIT_DENIAL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit/decision.h"

enum { DENIAL_KEY_MAX = 200 };

struct denial_request {
    const void *policy; /* of one snapshot: another snapshot's is another policy */
    const char *key;    /* what tells clients under it apart; longer than DENIAL_KEY_MAX is not kept */
    size_t key_len;
    int64_t cost;
};

/* What the other instances were last heard of. */
struct denial_news {
    uint64_t forgets;  /* another number: somebody deleted a client's state */
    int64_t looked_us; /* monotonic time of the last look that succeeded; without one in the last second
                          nothing is answered */
};

struct denial_cache;

struct denial_cache *denial_cache_new(size_t entries);
void denial_cache_free(struct denial_cache *cache); /* NULL is fine */

/* Everything goes: after a change of configuration, and when Redis was lost or came back. */
void denial_cache_clear(struct denial_cache *cache);

/* Changes whenever everything went. A reply to what was asked under another number is not to be kept. */
uint64_t denial_cache_age(const struct denial_cache *cache);

/* True with the decision as it is now: source "cache", waits less what has passed. */
bool denial_cache_find(struct denial_cache *cache, const struct denial_request *request,
                       const struct denial_news *news, int64_t now_us, struct decision *decision);

/* Keeps what may be kept of Redis's decision, which was asked for at `sent_us` under denial_cache_age `age`,
 * and came at `now_us`. */
void denial_cache_keep(struct denial_cache *cache, const struct denial_request *request,
                       const struct decision *decision, uint64_t age, int64_t sent_us, int64_t now_us);

#endif
