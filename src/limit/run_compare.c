/* Translating a limit from one algorithm to another. Decides nothing. */
#include "limit/run_compare.h"

#include <assert.h>
#include <stdio.h>

#include "base/decimal.h"
#include "limit/exact.h"
#include "limit/leaky_bucket.h"
#include "limit/token_bucket.h"

static const int64_t interval_min_us = 1000;

/* As evenly as an interval of a millisecond or more allows. */
static void to_token_bucket(int64_t units, int64_t window_us, struct limit_settings *out) {
    int64_t interval = exact_max(window_us / units, interval_min_us);

    out->params[TOKEN_BUCKET_CAPACITY] = units * MICRO;
    out->params[TOKEN_BUCKET_REFILL_INTERVAL] = interval;
    out->params[TOKEN_BUCKET_REFILL_RATE] = exact_max(1, units * interval / window_us) * MICRO;
}

static void to_leaky_bucket(int64_t units, int64_t window_us, struct limit_settings *out) {
    int64_t most = leaky_bucket.params[LEAKY_BUCKET_LEAK_RATE].max;
    __int128 rate = (__int128)units * MICRO * MICRO / window_us;

    out->params[LEAKY_BUCKET_CAPACITY] = units * MICRO;
    out->params[LEAKY_BUCKET_LEAK_RATE] = rate > most ? most : exact_max(1, (int64_t)rate);
}

/* The windows: limit and window come first in all of them. */
static void to_window(int64_t units, int64_t window_us, struct limit_settings *out) {
    int64_t most = out->algorithm->params[0].max / MICRO;

    out->params[0] = exact_min(units, most) * MICRO; /* no run sends as many as that */
    out->params[1] = exact_max(window_us, interval_min_us);
}

/* A rate of many decimals may be more than can be counted exactly: then it is rounded up. */
static void settle(struct limit_settings *limit) {
    const struct limit_settings wanted = *limit;
    size_t param;

    for (int64_t grain = 10; grain <= MICRO && limit_settings_check(limit, &param, NULL) != 0; grain *= 10)
        for (size_t i = 1; i < limit->algorithm->param_count; i++)
            if (limit->algorithm->params[i].rate)
                limit->params[i] = exact_ceil(wanted.params[i], grain) * grain;
}

static void translate(const struct limit_settings *limit, struct limit_settings *out) {
    int64_t units = limit_units(limit), window_us = limit->algorithm->window_us(limit->params);

    if (out->algorithm == &token_bucket)
        to_token_bucket(units, window_us, out);
    else if (out->algorithm == &leaky_bucket)
        to_leaky_bucket(units, window_us, out);
    else
        to_window(units, window_us, out);
    settle(out);
}

void run_compare_policies(const struct policy *policy, struct policy out[RUN_COMPARED]) {
    static const int64_t cost_most = 1000; /* the log's */

    assert(algorithm_count == RUN_COMPARED);
    for (size_t i = 0; i < RUN_COMPARED; i++) {
        struct limit_settings *limit = &out[i].limits[0];
        out[i] = (struct policy){.cost = exact_min(policy->cost, cost_most), .limit_count = 1};
        out[i].cost_max = out[i].cost;
        out[i].on_redis_error = policy->on_redis_error;
        snprintf(out[i].name, sizeof out[i].name, "~lab");
        limit_settings_default(limit, algorithms[i]);
        if (algorithms[i] == policy->limits[0].algorithm) {
            *limit = policy->limits[0];
            snprintf(limit->name, sizeof limit->name, "%s", algorithms[i]->name);
        } else {
            translate(&policy->limits[0], limit);
        }
    }
}
