/* The token bucket as a line of the algorithm table: parameters, bounds, words, and its arithmetic in memory.
 */
#ifndef RL_LIMIT_TOKEN_BUCKET_H
#define RL_LIMIT_TOKEN_BUCKET_H

#include "limit/algorithm.h"

/* Indices into params. */
enum { TOKEN_BUCKET_CAPACITY, TOKEN_BUCKET_REFILL_RATE, TOKEN_BUCKET_REFILL_INTERVAL };

extern const struct algorithm token_bucket;

#endif
