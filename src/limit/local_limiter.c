/* The table behind decisions in memory: chained hash, order of use, bounds, and the clock of an outage.
 *
 * Does no arithmetic of limits (local_decision.c) and knows no Redis. */
#include "limit/local_limiter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/decimal.h"
#include "base/siphash.h"
#include "base/xmalloc.h"
#include "limit/exact.h"
#include "limit/last_seen.h"

/* One client under one limit. Found by text, so a limit of another name is another entry. */
struct entry {
    TAILQ_ENTRY(entry) use;
    struct entry *chain;
    uint64_t hash;
    const struct algorithm *algorithm;
    struct algorithm_state state;
    int64_t expires_us;
    int64_t decided_us; /* when it was last decided here */
    size_t len;
    char text[]; /* <policy>:<limit>:<key> */
};

struct local_limiter {
    pthread_mutex_t lock;
    size_t keys_max, bytes_max, keys, bytes;
    struct siphash_key hash_key;
    struct last_seen_table *seen;
    struct entry **chains;
    size_t mask;
    TAILQ_HEAD(uses, entry) uses; /* most recently used first */
    atomic_llong instances;
    atomic_bool outage;
    int64_t wall_minus_mono_us;
};

struct local_limiter *local_limiter_new(size_t keys_max, size_t bytes_max) {
    struct local_limiter *local = xcalloc(1, sizeof *local);
    size_t chains = 1;
    while (chains < keys_max)
        chains *= 2;
    pthread_mutex_init(&local->lock, NULL);
    local->keys_max = keys_max;
    local->bytes_max = bytes_max;
    local->chains = xcalloc(chains, sizeof(struct entry *)); /* takes real memory only where it is used */
    local->mask = chains - 1;
    TAILQ_INIT(&local->uses);
    local->seen = last_seen_new(keys_max);
    atomic_init(&local->instances, 1);
    atomic_init(&local->outage, false);
    /* A guessable key would only make crafted keys slower to find. */
    if (getrandom(&local->hash_key, sizeof local->hash_key, GRND_NONBLOCK) < 0)
        local->hash_key.low = (uint64_t)(uintptr_t)local;
    return local;
}

/* --- entries --- */

static size_t entry_bytes(const struct entry *entry) {
    return sizeof *entry + entry->len + algorithm_state_bytes(&entry->state);
}

static struct entry *find(const struct local_limiter *local, uint64_t hash, const char *text, size_t len) {
    struct entry *entry = local->chains[hash & local->mask];
    while (entry && (entry->hash != hash || entry->len != len || memcmp(entry->text, text, len) != 0))
        entry = entry->chain;
    return entry;
}

static void drop(struct local_limiter *local, struct entry *entry) {
    struct entry **place = &local->chains[entry->hash & local->mask];
    while (*place != entry)
        place = &(*place)->chain;
    *place = entry->chain;
    TAILQ_REMOVE(&local->uses, entry, use);
    local->keys--;
    local->bytes -= entry_bytes(entry);
    algorithm_state_free(&entry->state);
    free(entry);
}

static struct entry *add(struct local_limiter *local, uint64_t hash, const char *text, size_t len) {
    struct entry *entry = xcalloc(1, sizeof *entry + len);
    struct entry **place = &local->chains[hash & local->mask];
    entry->hash = hash;
    entry->len = len;
    memcpy(entry->text, text, len);
    entry->chain = *place;
    *place = entry;
    TAILQ_INSERT_HEAD(&local->uses, entry, use);
    local->keys++;
    local->bytes += entry_bytes(entry);
    return entry;
}

void local_limiter_free(struct local_limiter *local) {
    if (!local) return;
    while (!TAILQ_EMPTY(&local->uses))
        drop(local, TAILQ_FIRST(&local->uses));
    pthread_mutex_destroy(&local->lock);
    last_seen_free(local->seen);
    free(local->chains);
    free(local);
}

/* Those that were used just now are in front and stay. */
static void keep_bounds(struct local_limiter *local, size_t used) {
    while (local->keys > used && (local->keys > local->keys_max || local->bytes > local->bytes_max)) {
        /* The analyzer does not see that drop() takes out of the list what it frees.
         * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        drop(local, TAILQ_LAST(&local->uses, uses));
    }
}

/* --- one decision --- */

/* A limit of the policy on its way through. */
struct part {
    char text[POLICY_NAME_MAX + LIMIT_NAME_MAX + LOCAL_KEY_TEXT_MAX + 3];
    size_t len;
    uint64_t hash;
    struct entry *entry;         /* NULL: not there */
    struct algorithm_state none; /* stands for the state then */
};

/* A state from which Redis would have said what it last said of this client, as far as that tells it: what
 * was used is taken from a new client at the time that explains the reset, or, where the numbers do not tell
 * when each unit was used, as late as it can have been. One instance counts its share of it, rounded up. */
static void begin_from(const struct limit_settings *whole, const struct limit_settings *share,
                       int64_t instances, const struct last_seen *seen, int64_t at_us,
                       struct algorithm_state *state) {
    int64_t used = exact_ceil(exact_max(limit_units(whole) - seen->remaining, 0), instances);
    int64_t cost = exact_min(used, limit_units(share)) * MICRO;
    struct moment at = {share->params, at_us, 0};
    state->count = 0;
    if (cost == 0) return;
    share->algorithm->take(&at, state, cost);
    if (!share->algorithm->told_whole) return;
    int64_t left = share->algorithm->fits(&at, state) / MICRO;
    int64_t earlier = share->algorithm->wait(&at, state, (left + 1) * MICRO) - seen->reset_after_us;
    if (earlier <= 0) return;
    state->count = 0;
    at.now_us -= earlier;
    share->algorithm->take(&at, state, cost);
}

/* If Redis has decided since this process last did, its word counts. */
static void recall(struct local_limiter *local, struct part *part, const struct limit_settings *whole,
                   const struct limit_settings *share, int64_t instances, int64_t now_us) {
    struct algorithm_state *state = part->entry ? &part->entry->state : &part->none;
    struct last_seen seen;
    if (!last_seen_get(local->seen, part->hash, &seen)) return;
    int64_t at_us = exact_min(seen.at_us + local->wall_minus_mono_us, now_us);
    if (part->entry && part->entry->decided_us >= at_us) return;
    begin_from(whole, share, instances, &seen, at_us, state);
    if (part->entry) part->entry->expires_us = INT64_MAX; /* settle() says how long */
}

static void look_up(struct local_limiter *local, struct part *part, const struct limit_settings *limit,
                    int64_t now_us) {
    part->hash = siphash(&local->hash_key, part->text, part->len);
    part->entry = find(local, part->hash, part->text, part->len);
    if (!part->entry) return;
    TAILQ_REMOVE(&local->uses, part->entry, use);
    TAILQ_INSERT_HEAD(&local->uses, part->entry, use);
    if (part->entry->algorithm == limit->algorithm && now_us < part->entry->expires_us) return;
    part->entry->algorithm = limit->algorithm;
    part->entry->expires_us = 0;
    part->entry->state.count = 0;
}

/* Keeps what the decision left. A client from whom nothing was taken is not remembered. */
static void settle(struct local_limiter *local, struct part *part, const struct limit_settings *limit,
                   const struct local_request *request) {
    struct moment at = {limit->params, request->now_us, request->max_delay_us};
    if (!part->entry) {
        if (part->none.count == 0) return;
        part->entry = add(local, part->hash, part->text, part->len);
        part->entry->algorithm = limit->algorithm;
        part->entry->state = part->none;
        local->bytes += algorithm_state_bytes(&part->none);
    }
    int64_t expires_us = request->now_us + limit->algorithm->ttl(&at, &part->entry->state);
    bool recalled = part->entry->expires_us == INT64_MAX;
    part->entry->expires_us = recalled ? expires_us : exact_max(part->entry->expires_us, expires_us);
    part->entry->decided_us = request->now_us;
}

static void decide(struct local_limiter *local, const struct policy *policy,
                   const struct limit_settings *limits, struct part *parts, int64_t instances,
                   const struct local_request *request, struct decision *decision) {
    size_t count = policy->limit_count;
    struct algorithm_state *states[LIMITS_MAX];
    size_t before = 0, after = 0;
    for (size_t i = 0; i < count; i++) {
        look_up(local, &parts[i], &limits[i], request->now_us);
        states[i] = parts[i].entry ? &parts[i].entry->state : &parts[i].none;
        if (parts[i].entry) before += algorithm_state_bytes(states[i]);
        recall(local, &parts[i], &policy->limits[i], &limits[i], instances, request->now_us);
    }
    local_decide(limits, count, states, request, decision);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].entry) after += algorithm_state_bytes(states[i]);
        settle(local, &parts[i], &limits[i], request);
    }
    local->bytes += after - before; /* may be less: unsigned numbers come out right */
    keep_bounds(local, count);
}

static void add_text(struct part *part, const char *text, size_t len) {
    size_t room = sizeof part->text - part->len;
    if (len > room) len = room;
    memcpy(part->text + part->len, text, len);
    part->len += len;
}

static void name_part(struct part *part, const char *policy, const char *limit, const char *key,
                      size_t key_len) {
    part->len = 0;
    add_text(part, policy, strlen(policy));
    add_text(part, ":", 1);
    add_text(part, limit, strlen(limit));
    add_text(part, ":", 1);
    add_text(part, key, key_len);
    part->entry = NULL;
    part->none = (struct algorithm_state){.words = NULL};
}

void local_limiter_decide(struct local_limiter *local, const struct policy *policy, const char *key,
                          size_t key_len, const struct local_request *request, struct decision *decision) {
    struct limit_settings limits[LIMITS_MAX];
    struct part parts[LIMITS_MAX];
    int64_t instances = atomic_load_explicit(&local->instances, memory_order_relaxed);
    for (size_t i = 0; i < policy->limit_count; i++) {
        name_part(&parts[i], policy->name, policy->limits[i].name, key, key_len);
        limits[i] = limit_settings_share(&policy->limits[i], instances);
    }
    pthread_mutex_lock(&local->lock);
    decide(local, policy, limits, parts, instances, request, decision);
    pthread_mutex_unlock(&local->lock);
}

void local_limiter_saw(struct local_limiter *local, const struct policy *policy, const char *key,
                       size_t key_len, const struct decision *decision, int64_t mono_us) {
    struct part part;
    for (size_t i = 0; i < policy->limit_count; i++) {
        name_part(&part, policy->name, policy->limits[i].name, key, key_len);
        last_seen_put(
            local->seen, siphash(&local->hash_key, part.text, part.len),
            &(struct last_seen){mono_us, decision->limits[i].remaining, decision->limits[i].reset_after_us});
    }
}

void local_limiter_share(struct local_limiter *local, int64_t instances) {
    atomic_store_explicit(&local->instances, exact_max(instances, 1), memory_order_relaxed);
}

/* --- the clock --- */

int64_t local_limiter_now(struct local_limiter *local, int64_t wall_us, int64_t mono_us) {
    pthread_mutex_lock(&local->lock);
    if (!atomic_exchange_explicit(&local->outage, true, memory_order_relaxed))
        local->wall_minus_mono_us = wall_us - mono_us;
    int64_t now_us = local->wall_minus_mono_us + mono_us;
    pthread_mutex_unlock(&local->lock);
    return now_us;
}

void local_limiter_rest(struct local_limiter *local) {
    if (atomic_load_explicit(&local->outage, memory_order_relaxed))
        atomic_store_explicit(&local->outage, false, memory_order_relaxed);
}

/* --- what is kept --- */

size_t local_limiter_keys(struct local_limiter *local) {
    pthread_mutex_lock(&local->lock);
    size_t keys = local->keys;
    pthread_mutex_unlock(&local->lock);
    return keys;
}

size_t local_limiter_bytes(struct local_limiter *local) {
    pthread_mutex_lock(&local->lock);
    size_t bytes = local->bytes;
    pthread_mutex_unlock(&local->lock);
    return bytes;
}
