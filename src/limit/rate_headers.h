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

/* `"<policy>/<limit>";q=<units>;w=<seconds>` and `, ` for each limit; 48 is more than two numbers take. */
enum { RATE_LINE_MAX = LIMITS_MAX * (POLICY_NAME_MAX + LIMIT_NAME_MAX + 48) };
/* All of a decision's headers with their line ends; 288 is more than those besides RateLimit and
 * RateLimit-Policy take, and the names of these. */
enum { RATE_HEADERS_MAX = 2 * RATE_LINE_MAX + 288 };

/* us -> whole seconds, rounded up. */
int64_t seconds_up(int64_t us);

#endif
