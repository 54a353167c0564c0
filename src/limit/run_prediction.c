/* Simulates a run thrice: as planned, and a little early and late. Fires nothing. */
#include "limit/run_prediction.h"

#include <stdlib.h>

#include "base/xmalloc.h"
#include "limit/exact.h"
#include "limit/local_decision.h"

/* How far from the plan a request may come, and how long one of a burst takes. */
static const struct slip {
    int64_t off_us, each_us, ppm;
} slips[] = {{0, 20, 0}, {-4000, 10, -500}, {4000, 250, 500}};
enum { SLIPS = sizeof slips / sizeof slips[0] };

static struct algorithm_state *copy_states(const struct run_states *states, size_t limits) {
    struct algorithm_state *copy = xcalloc(states->keys * LIMITS_MAX, sizeof *copy);

    for (size_t key = 0; key < states->keys; key++)
        for (size_t i = 0; i < limits; i++)
            algorithm_state_copy(&copy[key * LIMITS_MAX + i], &states->states[key * LIMITS_MAX + i]);
    return copy;
}

static void free_states(struct algorithm_state *states, size_t count) {
    for (size_t i = 0; i < count; i++)
        algorithm_state_free(&states[i]);
    free(states);
}

/* When number i comes, if things slip so. Those planned for one moment follow each other. */
static int64_t comes_at(const struct run_plan *plan, size_t i, size_t burst, const struct slip *slip) {
    int64_t at = plan->at_us[i];

    if (i == 0) return 0;
    at += at * slip->ppm / 1000000 + (at > 0 ? slip->off_us : 0) + (int64_t)burst * slip->each_us;
    return exact_max(at, 0);
}

static void simulate(const struct run_plan *plan, const struct policy *policy,
                     const struct run_states *states, int64_t now_us, const struct slip *slip,
                     struct run_tally *tally) {
    struct algorithm_state *copy = copy_states(states, policy->limit_count), *ours[LIMITS_MAX];
    int64_t max_delay_us = policy->on_limit == ON_LIMIT_DELAY ? policy->max_delay_us : 0;
    size_t burst = 0;

    for (size_t i = 0; i < plan->count; i++) {
        unsigned key = states->key_of_client[plan->client[i]];
        struct local_request request = {.cost = policy->cost, .max_delay_us = max_delay_us, .take = true};
        struct decision decision;
        burst = i > 0 && plan->at_us[i] == plan->at_us[i - 1] ? burst + 1 : 0;
        request.now_us = now_us + comes_at(plan, i, burst, slip);
        for (size_t n = 0; n < policy->limit_count; n++)
            ours[n] = &copy[key * LIMITS_MAX + n];
        local_decide(policy->limits, policy->limit_count, ours, &request, &decision);
        if (decision.outcome == DECISION_DENIED && policy->on_limit == ON_LIMIT_SHADOW) {
            decision.outcome = DECISION_ALLOWED;
            decision.shadow_denied = true;
        }
        run_tally_add(tally, &decision, request.now_us - now_us, key);
    }
    free_states(copy, states->keys * LIMITS_MAX);
}

/* In a shadow policy all pass; what is foretold is what the limit says. */
static size_t admitted(const struct run_tally *tally) {
    return tally->counts[RUN_ALLOWED] + tally->counts[RUN_DELAYED];
}

void run_predict(const struct run_plan *plan, const struct policy *policy, const struct run_states *states,
                 int64_t now_us, struct run_prediction *prediction) {
    int64_t window_us = policy->limits[0].algorithm->window_us(policy->limits[0].params);

    for (size_t i = 0; i < SLIPS; i++) {
        struct run_tally tally = {.passed = NULL};
        simulate(plan, policy, states, now_us, &slips[i], &tally);
        size_t count = admitted(&tally);
        if (i == 0)
            *prediction = (struct run_prediction){.allowed = count,
                                                  .least = count,
                                                  .most = count,
                                                  .most_in_window = run_tally_most(&tally, window_us),
                                                  .longest_wait_us = tally.longest_wait_us};
        if (count < prediction->least) prediction->least = count;
        if (count > prediction->most) prediction->most = count;
        run_tally_free(&tally);
    }
}
