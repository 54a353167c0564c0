/* One limit in the terms of every algorithm: the same number at once, the same number in the long run. Pure.
 */
#ifndef RL_LIMIT_RUN_COMPARE_H
#define RL_LIMIT_RUN_COMPARE_H

#include "limit/policy.h"

enum { RUN_COMPARED = 5 };

/* Makes a policy of one limit for each algorithm out of the first limit of `policy`; that one's algorithm
 * keeps its own settings. They are no configuration's: their name, which no configuration can hold, keeps
 * their keys apart. */
void run_compare_policies(const struct policy *policy, struct policy out[RUN_COMPARED]);

#endif
