/* The sliding window counter as a line of the algorithm table: parameters, bounds, words, and its arithmetic
 * in memory. */
#ifndef RL_LIMIT_SLIDING_WINDOW_COUNTER_H
#define RL_LIMIT_SLIDING_WINDOW_COUNTER_H

#include "limit/algorithm.h"

/* Indices into params. */
enum { SLIDING_COUNTER_LIMIT, SLIDING_COUNTER_WINDOW, SLIDING_COUNTER_SUB_WINDOWS };

extern const struct algorithm sliding_window_counter;

#endif
