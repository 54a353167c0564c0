/* Reading the scripts' replies. What can be told from the rest, the scripts do not say: who is admitted, how
 * much too long the wait is, and how long it is for a cost of 1. */
#include "limit/script_reply.h"

#include "base/decimal.h"
#include "limit/exact.h"

enum {
    HEAD = 1,     /* time */
    PER_LIMIT = 3 /* wait for this cost, whole units left, wait for one more */
};

/* Forty years. Every limit is as new after ten at most; a state may be written as long ahead of a clock that
 * went back, and what delayed requests took in advance is far less. Sums of such numbers cannot overflow. */
static const int64_t wait_max_us = 4 * 315360000LL * MICRO;

struct limit_reply {
    int64_t due_us, left, more_us;
};

/* Element `index` of the reply, which must be a whole number from 0 to `highest`. */
static bool read_count(const struct redis_value *value, size_t index, int64_t highest, int64_t *out) {
    return redis_value_int(redis_value_at(value, index), out) && *out >= 0 && *out <= highest;
}

static bool read_limit(const struct redis_value *value, size_t at, int64_t units, struct limit_reply *reply) {
    return read_count(value, at, wait_max_us, &reply->due_us) &&
           read_count(value, at + 1, units, &reply->left) &&
           read_count(value, at + 2, wait_max_us, &reply->more_us);
}

static int64_t above(int64_t wait_us, int64_t longest_us) {
    return wait_us > longest_us ? wait_us - longest_us : 0;
}

bool script_reply_read(const struct redis_value *value, const struct limit_settings *limits, size_t count,
                       int64_t longest_us, struct decision *decision) {
    struct limit_reply replies[LIMITS_MAX];
    int64_t due_us = 0;
    if (redis_value_count(value) != HEAD + PER_LIMIT * count ||
        !read_count(value, 0, EXACT, &decision->now_us))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!read_limit(value, HEAD + PER_LIMIT * i, limit_units(&limits[i]), &replies[i])) return false;
        if (replies[i].due_us > due_us) due_us = replies[i].due_us;
    }
    bool admitted = due_us <= longest_us;
    for (size_t i = 0; i < count; i++) {
        const struct limit_reply *reply = &replies[i];
        decision->limits[i] =
            (struct limit_state){.remaining = reply->left,
                                 .reset_after_us = reply->more_us,
                                 .retry_after_us = admitted ? 0 : above(reply->due_us, longest_us),
                                 .wait_one_us = reply->left > 0 ? 0 : above(reply->more_us, longest_us)};
    }
    decision->count = count;
    decision->source = SOURCE_REDIS;
    decision->outcome = admitted ? DECISION_ALLOWED : DECISION_DENIED;
    decision->delayed_us = admitted ? due_us : 0;
    decision->binding = decision_binding(decision->limits, count, !admitted);
    return true;
}
