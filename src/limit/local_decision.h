/* One decision under all limits of a policy, from states in memory: what lua/decide_several.lua does in
 * Redis, to the last digit. Time is passed in; nothing is looked up or kept here. Pure, any thread. */
#ifndef RL_LIMIT_LOCAL_DECISION_H
#define RL_LIMIT_LOCAL_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit/algorithm.h"
#include "limit/decision.h"

struct local_request {
    int64_t now_us;
    int64_t cost; /* whole units */
    int64_t max_delay_us;
    bool at_once; /* deny what would have to wait, whatever max_delay_us promises to others */
    bool take;    /* false: tell what would be, take nothing */
};

/* `states[i]` is that of `limits[i]`. When all admit (and `take` is asked for) each is taken from, else none
 * is. Fills source, cost, now, outcome (allowed or denied), delay, numbers and the limit that binds. A cost
 * above a limit's size is denied. */
void local_decide(const struct limit_settings *limits, size_t count, struct algorithm_state *const *states,
                  const struct local_request *request, struct decision *decision);

#endif
