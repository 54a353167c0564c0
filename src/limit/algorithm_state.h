/* What an algorithm remembers of one client under one limit, kept in memory: a vector of whole numbers.
 *
 * What the numbers mean is the algorithm's business; that they lie in one plain vector lets a table count
 * their bytes and a test copy them. Owned by whoever holds it; not thread-safe. */
#ifndef RL_LIMIT_ALGORITHM_STATE_H
#define RL_LIMIT_ALGORITHM_STATE_H

#include <stddef.h>
#include <stdint.h>

struct algorithm_state {
    int64_t *words;
    size_t count;    /* words in use; 0: a client never seen */
    size_t capacity; /* words there is room for */
};

/* Makes room for `count` words in all. What is there stays. */
void algorithm_state_reserve(struct algorithm_state *state, size_t count);

/* Makes it hold these words and no others. */
void algorithm_state_set(struct algorithm_state *state, const int64_t *words, size_t count);

/* Makes `to` (zeroed, or a state of its own) hold what `from` holds. */
void algorithm_state_copy(struct algorithm_state *to, const struct algorithm_state *from);

void algorithm_state_free(struct algorithm_state *state); /* back to a client never seen */

size_t algorithm_state_bytes(const struct algorithm_state *state); /* memory it takes beside the struct */

#endif
