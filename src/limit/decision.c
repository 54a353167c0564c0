/* Names of a decision's parts, and which of several limits binds.
 *
 * Decides nothing itself. */
#include "limit/decision.h"

const char *decision_source_name(enum decision_source source) {
    static const char *const names[] = {
        [SOURCE_REDIS] = "redis", [SOURCE_CACHE] = "cache", [SOURCE_LOCAL] = "local", [SOURCE_NONE] = "none"};
    return names[source];
}

/* Does `a` bind harder than `b`? Equal ones leave it to the first in the policy's order. */
static bool binds(const struct limit_state *a, const struct limit_state *b, bool denied) {
    return denied ? a->retry_after_us > b->retry_after_us : a->remaining < b->remaining;
}

size_t decision_binding(const struct limit_state *limits, size_t count, bool denied) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        if (binds(&limits[i], &limits[best], denied)) best = i;
    }
    return best;
}
