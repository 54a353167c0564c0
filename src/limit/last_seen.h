/* What Redis last said of a client's limit, so that decisions in memory begin from there when Redis goes
 * away.
 *
 * A table of fixed size in which a newer client may take an older one's place: what is missing makes a client
 * new, no more. Written for every reply by every worker and read in an outage, without locks: an entry whose
 * words do not belong together is no entry. Any thread. */
#ifndef RL_LIMIT_LAST_SEEN_H
#define RL_LIMIT_LAST_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct last_seen {
    int64_t at_us;          /* monotonic clock */
    int64_t remaining;      /* whole units */
    int64_t reset_after_us; /* from at_us */
};

struct last_seen_table;

/* `entries`: how many clients and limits at most, rounded up to a power of two. */
struct last_seen_table *last_seen_new(size_t entries);
void last_seen_free(struct last_seen_table *table); /* NULL is fine */

/* `hash` tells clients and limits apart; the caller's, 64 good bits. */
void last_seen_put(struct last_seen_table *table, uint64_t hash, const struct last_seen *seen);
bool last_seen_get(const struct last_seen_table *table, uint64_t hash, struct last_seen *seen);

#endif
