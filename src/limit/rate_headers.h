/* The rate limit headers of a decision (docs/api.md, "Headers of every decision"). Pure, any thread. */
#ifndef RL_LIMIT_RATE_HEADERS_H
#define RL_LIMIT_RATE_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

#include "limit/decision.h"
#include "limit/policy.h"

typedef void rate_header_fn(void *arg, const char *name, const char *value);

/* Calls `add` once for each header of the decision, Cache-Control excluded. `wall_us`: this server's clock
 * now, for X-RateLimit-Reset. `fields`: also RateLimit and RateLimit-Policy. A decision without numbers gives
 * X-RateLimit-Limit alone. */
void rate_headers(const struct policy *policy, const struct decision *decision, int64_t wall_us, bool fields,
                  rate_header_fn *add, void *arg);

/* us -> whole seconds, rounded up. */
int64_t seconds_up(int64_t us);

#endif
