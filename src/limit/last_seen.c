/* The table of last replies. Makes no decision. */
#include "limit/last_seen.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/xmalloc.h"

/* Two workers may write one entry at once, and a reader may come in between. `check` is the exclusive or of
 * the other words: it fits only words of one writing (but for one chance in 2^64). */
struct entry {
    _Atomic uint64_t hash, at_us, remaining, reset_after_us, check;
};

struct last_seen_table {
    size_t mask;
    struct entry entries[];
};

struct last_seen_table *last_seen_new(size_t entries) {
    size_t size = 1;
    struct last_seen_table *table;

    while (size < entries)
        size *= 2;
    table =
        xcalloc(1, sizeof *table + size * sizeof(struct entry)); /* takes real memory only where it is used */
    table->mask = size - 1;
    return table;
}

void last_seen_free(struct last_seen_table *table) {
    free(table);
}

static void set(_Atomic uint64_t *word, uint64_t value) {
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

void last_seen_put(struct last_seen_table *table, uint64_t hash, const struct last_seen *seen) {
    struct entry *entry = &table->entries[hash & table->mask];
    uint64_t at = (uint64_t)seen->at_us, remaining = (uint64_t)seen->remaining;
    uint64_t reset = (uint64_t)seen->reset_after_us;

    set(&entry->hash, hash);
    set(&entry->at_us, at);
    set(&entry->remaining, remaining);
    set(&entry->reset_after_us, reset);
    set(&entry->check, hash ^ at ^ remaining ^ reset);
}

bool last_seen_get(const struct last_seen_table *table, uint64_t hash, struct last_seen *seen) {
    const struct entry *entry = &table->entries[hash & table->mask];
    uint64_t at = get(&entry->at_us), remaining = get(&entry->remaining), reset = get(&entry->reset_after_us);

    if (at == 0 || get(&entry->hash) != hash || get(&entry->check) != (hash ^ at ^ remaining ^ reset))
        return false;
    *seen = (struct last_seen){(int64_t)at, (int64_t)remaining, (int64_t)reset};
    return true;
}
