/* The fixed window as a line of the algorithm table: parameters, bounds, words, and its arithmetic in memory.
 */
#ifndef RL_LIMIT_FIXED_WINDOW_H
#define RL_LIMIT_FIXED_WINDOW_H

#include "limit/algorithm.h"

/* Indices into params. */
enum { FIXED_WINDOW_LIMIT, FIXED_WINDOW_WINDOW };

extern const struct algorithm fixed_window;

#endif
