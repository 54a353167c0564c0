/* The leaky bucket as a line of the algorithm table: parameters, bounds, words, and its arithmetic in memory.
 */
#ifndef RL_LIMIT_LEAKY_BUCKET_H
#define RL_LIMIT_LEAKY_BUCKET_H

#include "limit/algorithm.h"

/* Indices into params. */
enum { LEAKY_BUCKET_CAPACITY, LEAKY_BUCKET_LEAK_RATE };

extern const struct algorithm leaky_bucket;

#endif
