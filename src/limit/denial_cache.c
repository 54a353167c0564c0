/* The table of denials: sets of a few entries, found by a hash. Asks nobody. */
#include "limit/denial_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/siphash.h"
#include "base/xmalloc.h"

enum {
    WAYS = 4,
    LONGEST_US = 1000000, /* an entry, and a silence of the polls */
    ROUND_TRIP_US = 4000, /* a reply that took longer says too little of when it was true */
    MARGIN_US = 1000,     /* and a thousandth of the wait: clocks differ in speed */
    MARGIN_PART = 1000
};

struct entry {
    uint64_t hash;
    uint64_t age;     /* of the cache when it was kept; an older one is no entry */
    int64_t until_us; /* monotonic */
    int64_t since_us; /* from when its waits count */
    const void *policy;
    struct decision decision;
    size_t key_len;
    char key[DENIAL_KEY_MAX];
};

struct denial_cache {
    struct siphash_key secret;
    uint64_t age;
    uint64_t forgets;
    size_t sets;
    struct entry *entries; /* WAYS a set */
};

struct denial_cache *denial_cache_new(size_t entries) {
    struct denial_cache *cache = xcalloc(1, sizeof *cache);
    cache->sets = entries / WAYS > 0 ? entries / WAYS : 1;
    cache->entries = xcalloc(cache->sets * WAYS, sizeof *cache->entries);
    cache->age = 1;
    if (getrandom(&cache->secret, sizeof cache->secret, 0) != sizeof cache->secret) abort();
    return cache;
}

void denial_cache_free(struct denial_cache *cache) {
    if (!cache) return;
    free(cache->entries);
    free(cache);
}

void denial_cache_clear(struct denial_cache *cache) {
    cache->age++;
}

uint64_t denial_cache_age(const struct denial_cache *cache) {
    return cache->age;
}

static uint64_t hash_of(const struct denial_cache *cache, const struct denial_request *request) {
    return siphash(&cache->secret, request->key, request->key_len) ^ (uint64_t)(uintptr_t)request->policy ^
           (uint64_t)request->cost << 20;
}

static struct entry *set_of(struct denial_cache *cache, uint64_t hash) {
    return cache->entries + hash % cache->sets * WAYS;
}

static bool is_for(const struct entry *entry, uint64_t age, uint64_t hash,
                   const struct denial_request *request) {
    return entry->age == age && entry->hash == hash && entry->policy == request->policy &&
           entry->decision.cost == request->cost && entry->key_len == request->key_len &&
           memcmp(entry->key, request->key, request->key_len) == 0;
}

static int64_t less(int64_t wait_us, int64_t passed_us) {
    return wait_us > passed_us ? wait_us - passed_us : 0;
}

static void tell(const struct entry *entry, int64_t now_us, struct decision *decision) {
    int64_t passed_us = now_us - entry->since_us;
    *decision = entry->decision;
    decision->source = SOURCE_CACHE;
    decision->now_us += passed_us;
    for (size_t i = 0; i < decision->count; i++) {
        struct limit_state *limit = &decision->limits[i];
        limit->reset_after_us = less(limit->reset_after_us, passed_us);
        limit->retry_after_us = less(limit->retry_after_us, passed_us);
        limit->wait_one_us = less(limit->wait_one_us, passed_us);
    }
}

/* Nothing is believed that somebody may have undone meanwhile. */
static bool is_news(struct denial_cache *cache, const struct denial_news *news, int64_t now_us) {
    bool changed = news->forgets != cache->forgets;
    bool silent = news->looked_us == 0 || now_us - news->looked_us > LONGEST_US;
    cache->forgets = news->forgets;
    if (changed || silent) denial_cache_clear(cache);
    return changed || silent;
}

bool denial_cache_find(struct denial_cache *cache, const struct denial_request *request,
                       const struct denial_news *news, int64_t now_us, struct decision *decision) {
    if (is_news(cache, news, now_us) || request->key_len > DENIAL_KEY_MAX) return false;
    uint64_t hash = hash_of(cache, request);
    struct entry *set = set_of(cache, hash);
    for (size_t i = 0; i < WAYS; i++) {
        if (!is_for(&set[i], cache->age, hash, request) || now_us >= set[i].until_us) continue;
        tell(&set[i], now_us, decision);
        return true;
    }
    return false;
}

/* How long after it was asked for a denial is certain, and all its numbers but the waits stay as they are; 0:
 * it is not. */
static int64_t certain_us(const struct decision *decision) {
    int64_t wait_us = 0, longest_us = LONGEST_US;
    if (decision->outcome != DECISION_DENIED || decision->source != SOURCE_REDIS) return 0;
    for (size_t i = 0; i < decision->count; i++) {
        const struct limit_state *limit = &decision->limits[i];
        if (limit->wait_one_us > wait_us) wait_us = limit->wait_one_us;
        if (limit->reset_after_us > 0 && limit->reset_after_us < longest_us)
            longest_us = limit->reset_after_us;
    }
    wait_us = less(wait_us, MARGIN_US + wait_us / MARGIN_PART);
    return wait_us < longest_us ? wait_us : longest_us;
}

void denial_cache_keep(struct denial_cache *cache, const struct denial_request *request,
                       const struct decision *decision, uint64_t age, int64_t sent_us, int64_t now_us) {
    int64_t until_us = sent_us + certain_us(decision);
    if (age != cache->age || now_us - sent_us > ROUND_TRIP_US || until_us <= now_us ||
        request->key_len > DENIAL_KEY_MAX)
        return;
    uint64_t hash = hash_of(cache, request);
    struct entry *set = set_of(cache, hash), *entry = set;
    for (size_t i = 0; i < WAYS; i++) {
        if (is_for(&set[i], age, hash, request)) {
            entry = &set[i];
            break;
        }
        bool empty = set[i].age != age, sooner = set[i].until_us < entry->until_us;
        if (entry->age == age && (empty || sooner)) entry = &set[i];
    }
    *entry = (struct entry){.hash = hash,
                            .age = age,
                            .until_us = until_us,
                            .since_us = now_us,
                            .policy = request->policy,
                            .decision = *decision,
                            .key_len = request->key_len};
    memcpy(entry->key, request->key, request->key_len);
}
