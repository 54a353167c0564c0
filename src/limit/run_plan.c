/* Plans of runs: arithmetic on indices and times. Sends nothing and predicts nothing. */
#include "limit/run_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/xmalloc.h"
#include "limit/exact.h"
#include "limit/fixed_window.h"
#include "limit/sliding_window_counter.h"

enum {
    LEAD_US = 60000,         /* before the edge, and a little more for each request ... */
    LEAD_EACH_US = 100,      /* ... since they take their time */
    LAG_US = 15000,          /* behind it */
    EDGE_SOONEST_US = 400000 /* an edge that is nearer than this is let pass */
};

static const char *const names[RUN_SCENARIOS] = {
    [RUN_BURST] = "burst",
    [RUN_STEADY] = "steady",
    [RUN_WINDOW_EDGE] = "window_edge",
    [RUN_MANY_CLIENTS] = "many_clients",
    [RUN_COMPARE] = "compare",
};

const char *run_scenario_name(enum run_scenario scenario) {
    return names[scenario];
}

int run_scenario_find(const char *name) {
    for (int i = 0; i < RUN_SCENARIOS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

/* --- who --- */

/* Of each RUN_HEAVY + clients - 1 requests RUN_HEAVY are the first client's, evenly spread. */
static size_t client_of_many(size_t i, size_t clients) {
    size_t cycle = clients - 1 + RUN_HEAVY, slot = i % cycle;
    size_t heavy_before = slot * RUN_HEAVY / cycle, heavy_with = (slot + 1) * RUN_HEAVY / cycle;

    return heavy_with > heavy_before ? 0 : 1 + slot - heavy_before;
}

static size_t client_of(const struct run_order *order, size_t i) {
    size_t clients = (size_t)order->clients;

    return order->scenario == RUN_MANY_CLIENTS ? client_of_many(i, clients) : i % clients;
}

/* --- when --- */

static int64_t time_of(const struct run_order *order, size_t i) {
    if (order->rate == 0) return 0;
    return (int64_t)i * MICRO * MICRO / order->rate; /* 1e4 * 1e12 is exact */
}

int64_t run_plan_length(const struct run_plan *plan) {
    return plan->count ? plan->at_us[plan->count - 1] : 0;
}

static int64_t sub_window_us(const struct limit_settings *limit) {
    return limit->params[SLIDING_COUNTER_WINDOW] / (limit->params[SLIDING_COUNTER_SUB_WINDOWS] / MICRO);
}

int64_t run_plan_edge(const struct policy *policy, const struct limit_state *look, int64_t now_us) {
    const struct limit_settings *limit = &policy->limits[0];
    int64_t window_us = limit->algorithm->window_us(limit->params);

    if (limit->algorithm == &sliding_window_counter) { /* its windows lie on the clock's grid */
        int64_t sub_us = sub_window_us(limit), ahead = sub_us - now_us % sub_us;
        while (ahead < EDGE_SOONEST_US)
            ahead += sub_us;
        return ahead;
    }
    if (limit->algorithm == &fixed_window && look && look->remaining < limit_units(limit)) {
        int64_t over_us = look->reset_after_us;
        if (over_us >= EDGE_SOONEST_US) return over_us;
    }
    return window_us;
}

void run_plan_aim(struct run_plan *plan, int64_t edge_us) {
    int64_t lead = LEAD_US + LEAD_EACH_US * (int64_t)plan->after_edge;
    int64_t before = exact_max(edge_us - lead, 0);

    plan->edge_us = edge_us;
    for (size_t i = 0; i < plan->count; i++)
        plan->at_us[i] = i == 0 ? 0 : i < plan->after_edge ? before : edge_us + LAG_US;
}

/* --- both --- */

#define REFUSE(name, ...) (*member = (name), err_set(err, __VA_ARGS__))

static int plan_edge_run(struct run_plan *plan, const struct policy *policy, const char **member,
                         struct err *err) {
    const struct limit_settings *limit = &policy->limits[0];
    int64_t requests = limit_units(limit) / policy->cost,
            window_us = limit->algorithm->window_us(limit->params);

    if (2 * requests > RUN_COUNT_MAX)
        return REFUSE(
            "policy",
            "of policy %s %lld requests fit at once; this scenario sends twice that and takes at most %d",
            policy->name, (long long)requests, RUN_COUNT_MAX);
    if (window_us > (RUN_SECONDS_MAX - 1) * MICRO)
        return REFUSE("policy", "policy %s has a window of %lld s; this scenario waits at most %d s",
                      policy->name, (long long)(window_us / MICRO), RUN_SECONDS_MAX - 1);
    plan->order.count = 2 * requests;
    plan->order.rate = 0;
    plan->order.clients = 1;
    plan->after_edge = (size_t)requests;
    return 0;
}

static int check_order(const struct run_order *order, const char **member, struct err *err) {
    int64_t most = order->scenario == RUN_COMPARE ? RUN_COMPARED_MAX : RUN_COUNT_MAX;

    if (order->count < 1 || order->count > most)
        return REFUSE("count", "count must be a whole number from 1 to %lld; got %lld", (long long)most,
                      (long long)order->count);
    if (order->rate < 0 || order->rate > RUN_RATE_MAX * MICRO)
        return REFUSE("rate", "rate must be a number from 0 (as fast as it goes) to %d", RUN_RATE_MAX);
    if (order->clients < 1 || order->clients > RUN_CLIENTS_MAX)
        return REFUSE("clients", "clients must be a whole number from 1 to %d; got %lld", RUN_CLIENTS_MAX,
                      (long long)order->clients);
    if (order->rate > 0 && (order->count - 1) * MICRO > RUN_SECONDS_MAX * order->rate)
        return REFUSE("rate", "at this rate %lld requests take more than %d s", (long long)order->count,
                      RUN_SECONDS_MAX);
    return 0;
}

int run_plan_make(struct run_plan *plan, const struct run_order *order, const struct policy *policy,
                  const char **member, struct err *err) {
    *plan = (struct run_plan){.order = *order, .edge_us = -1};
    if (order->scenario == RUN_WINDOW_EDGE) {
        if (plan_edge_run(plan, policy, member, err) != 0) return -1;
    } else if (check_order(order, member, err) != 0) {
        return -1;
    }
    plan->count = (size_t)plan->order.count;
    plan->at_us = xcalloc(plan->count, sizeof *plan->at_us);
    plan->client = xcalloc(plan->count, sizeof *plan->client);
    for (size_t i = 0; i < plan->count; i++) {
        plan->at_us[i] = time_of(&plan->order, i);
        plan->client[i] = (unsigned char)client_of(&plan->order, i);
    }
    return 0;
}

void run_plan_free(struct run_plan *plan) {
    free(plan->at_us);
    free(plan->client);
    *plan = (struct run_plan){.at_us = NULL};
}
