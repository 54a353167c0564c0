/* The memory of a state. Reads no meaning into it. */
#include "limit/algorithm_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/xmalloc.h"

void algorithm_state_reserve(struct algorithm_state *state, size_t count) {
    if (count <= state->capacity) return;
    /* By half more: a log that grows entry by entry is not copied each time. Small states take what they
     * need. */
    size_t capacity = state->capacity + state->capacity / 2;
    if (capacity < count) capacity = count;
    state->words = xrealloc(state->words, capacity * sizeof *state->words);
    state->capacity = capacity;
}

void algorithm_state_set(struct algorithm_state *state, const int64_t *words, size_t count) {
    algorithm_state_reserve(state, count);
    if (count > 0) memcpy(state->words, words, count * sizeof *words);
    state->count = count;
}

void algorithm_state_copy(struct algorithm_state *to, const struct algorithm_state *from) {
    algorithm_state_set(to, from->words, from->count);
}

void algorithm_state_free(struct algorithm_state *state) {
    free(state->words);
    *state = (struct algorithm_state){.words = NULL};
}

size_t algorithm_state_bytes(const struct algorithm_state *state) {
    return state->capacity * sizeof *state->words;
}
