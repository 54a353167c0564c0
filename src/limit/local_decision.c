/* The driver of the arithmetic in memory; lua/decide_several.lua is its twin.
 *
 * Knows no algorithm: each brings wait, fits and take, and everything follows from these. */
#include "limit/local_decision.h"

#include "base/decimal.h"
#include "limit/exact.h"

static struct moment moment_of(const struct limit_settings *limit, const struct local_request *request) {
    return (struct moment){limit->params, request->now_us, request->max_delay_us};
}

/* How long this request may wait. */
static int64_t longest_of(const struct local_request *request) {
    return request->at_once ? 0 : request->max_delay_us;
}

/* How long until `units` fit; what never fits (one instance's share may be small) waits a window at least. */
static int64_t wait_for(const struct limit_settings *limit, const struct moment *at,
                        const struct algorithm_state *state, int64_t units) {
    int64_t size = limit_units(limit),
            wait = limit->algorithm->wait(at, state, exact_min(units, size) * MICRO);
    return units <= size ? wait : exact_max(wait, limit->algorithm->window_us(limit->params));
}

static void tell(const struct limit_settings *limit, const struct algorithm_state *state,
                 const struct local_request *request, int64_t retry_after_us, struct limit_state *out) {
    struct moment at = moment_of(limit, request);
    int64_t remaining = limit->algorithm->fits(&at, state) / MICRO;
    *out = (struct limit_state){.remaining = remaining, .retry_after_us = retry_after_us};
    if (remaining < limit_units(limit)) out->reset_after_us = wait_for(limit, &at, state, remaining + 1);
    out->wait_one_us = exact_max(0, wait_for(limit, &at, state, 1) - longest_of(request));
}

void local_decide(const struct limit_settings *limits, size_t count, struct algorithm_state *const *states,
                  const struct local_request *request, struct decision *decision) {
    int64_t due[LIMITS_MAX], longest = 0;
    bool admitted = true;
    for (size_t i = 0; i < count; i++) {
        struct moment at = moment_of(&limits[i], request);
        due[i] = wait_for(&limits[i], &at, states[i], request->cost);
        longest = exact_max(longest, due[i]);
        admitted = admitted && due[i] <= longest_of(request) && request->cost <= limit_units(&limits[i]);
    }
    *decision = (struct decision){.outcome = admitted ? DECISION_ALLOWED : DECISION_DENIED,
                                  .source = SOURCE_LOCAL,
                                  .cost = request->cost,
                                  .delayed_us = admitted ? longest : 0,
                                  .now_us = request->now_us,
                                  .count = count};
    for (size_t i = 0; i < count; i++) {
        struct moment at = moment_of(&limits[i], request);
        if (admitted && request->take) limits[i].algorithm->take(&at, states[i], request->cost * MICRO);
        tell(&limits[i], states[i], request, admitted ? 0 : exact_max(0, due[i] - longest_of(request)),
             &decision->limits[i]);
    }
    decision->binding = decision_binding(decision->limits, count, !admitted);
}
