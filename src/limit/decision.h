/* The answer to "may this request pass?": plain values, on their way from the limiter to the client.
 *
 * Units: waits in whole microseconds, quotas in whole units. Owned by the limiter for the time of the
 * callback. */
#ifndef RL_LIMIT_DECISION_H
#define RL_LIMIT_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIMITS_MAX = 4 }; /* limits one policy may combine */

enum decision_source {
    SOURCE_REDIS, /* the script decided */
    SOURCE_CACHE, /* a denial that Redis would certainly have repeated */
    SOURCE_LOCAL, /* Redis is away: this process decided from memory */
    SOURCE_NONE   /* Redis is away: let through unchecked (on_redis_error "open") */
};

enum decision_outcome {
    DECISION_ALLOWED,
    DECISION_DENIED,
    DECISION_UNAVAILABLE /* Redis is away and the policy says "closed" */
};

/* What one limit says after the decision. */
struct limit_state {
    int64_t remaining;      /* whole units that fit now, 0..limit */
    int64_t reset_after_us; /* until remaining grows by a unit; 0 when nothing is used */
    int64_t retry_after_us; /* until this cost fits; 0 if it fits (or did) */
    int64_t wait_one_us;    /* until a cost of 1 fits; for the denial cache */
};

struct decision {
    enum decision_outcome outcome;
    enum decision_source source;
    bool shadow_denied; /* on_limit "shadow": outcome is ALLOWED although a limit said no */
    int64_t cost;       /* whole units asked for */
    int64_t delayed_us; /* how long the answer is to be held (on_limit "delay"); else 0 */
    int64_t now_us;     /* the clock the decision was made by (Redis TIME); 0 if unknown */
    size_t count;       /* limits below; 0 when there are no honest numbers (fail-open, closed) */
    size_t binding;     /* index of the limit that binds: longest wait if denied, else least left */
    struct limit_state limits[LIMITS_MAX];
};

const char *decision_source_name(enum decision_source source); /* "redis", "cache", "local", "none" */

/* Index of the limit that binds among `count` states: denied -> the longest retry_after_us, else the least
 * remaining. */
size_t decision_binding(const struct limit_state *limits, size_t count, bool denied);

#endif
