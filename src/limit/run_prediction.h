/* What the arithmetic says of a run before it is fired: the algorithms in memory, over the planned times.
 * Pure. */
#ifndef RL_LIMIT_RUN_PREDICTION_H
#define RL_LIMIT_RUN_PREDICTION_H

#include <stddef.h>
#include <stdint.h>

#include "limit/policy.h"
#include "limit/run_plan.h"
#include "limit/run_tally.h"

/* The states that the run's keys have at its start. */
struct run_states {
    size_t keys;
    const unsigned char *key_of_client;
    const struct algorithm_state *states; /* [key][LIMITS_MAX] */
};

/* Nothing runs exactly as planned, and at the edge of a window a millisecond decides: so a range. */
struct run_prediction {
    size_t allowed; /* as planned; delayed ones too */
    size_t least, most;
    size_t most_in_window; /* as planned */
    int64_t longest_wait_us;
};

/* `now_us`: Redis's clock at the start. */
void run_predict(const struct run_plan *plan, const struct policy *policy, const struct run_states *states,
                 int64_t now_us, struct run_prediction *prediction);

#endif
