/* What became of the requests of a run: counts, the most that passed in any one window, the longest wait.
 * Filled by a run as it goes or by a prediction. Pure; one owner. */
#ifndef RL_LIMIT_RUN_TALLY_H
#define RL_LIMIT_RUN_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "limit/decision.h"

enum run_outcome { RUN_ALLOWED, RUN_DENIED, RUN_DELAYED, RUN_SHADOW_DENIED, RUN_ERROR, RUN_OUTCOMES };

enum run_outcome run_outcome_of(const struct decision *decision);
char run_outcome_letter(enum run_outcome outcome); /* A D L S E */
/* What a denied one is told to wait, or a delayed one is held; microseconds, 0 for the others. */
int64_t run_wait_of(const struct decision *decision);

struct run_passed { /* a request that was let through */
    int64_t at_us;
    unsigned key;
};

struct run_tally {
    size_t counts[RUN_OUTCOMES];
    int64_t longest_wait_us; /* of run_wait_of */
    struct run_passed *passed;
    size_t passed_count, capacity;
};

/* `at_us`: when it was decided. `key`: which of the run's keys. */
void run_tally_add(struct run_tally *tally, const struct decision *decision, int64_t at_us, unsigned key);
void run_tally_free(struct run_tally *tally); /* back to an empty one */

/* The most requests of one key that passed within any stretch of `window_us`. Sorts what passed. */
size_t run_tally_most(struct run_tally *tally, int64_t window_us);

#endif
