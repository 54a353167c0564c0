/* The sliding window log as a line of the algorithm table: parameters, bounds, words, and its arithmetic in
 * memory. */
#ifndef RL_LIMIT_SLIDING_WINDOW_LOG_H
#define RL_LIMIT_SLIDING_WINDOW_LOG_H

#include "limit/algorithm.h"

/* Indices into params. */
enum { SLIDING_LOG_LIMIT, SLIDING_LOG_WINDOW };

extern const struct algorithm sliding_window_log;

#endif
