/* What a run fired by this server itself does: which client sends when. Pure; owned by whoever made it.
 *
 * Times are microseconds since the start of the run. */
#ifndef RL_LIMIT_RUN_PLAN_H
#define RL_LIMIT_RUN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "limit/policy.h"

enum {
    RUN_COUNT_MAX = 10000,
    RUN_COMPARED_MAX = 2000, /* of each algorithm */
    RUN_RATE_MAX = 1000,     /* a second */
    RUN_SECONDS_MAX = 60,
    RUN_CLIENTS_MAX = 100,
    RUN_HEAVY = 8 /* many_clients: the first sends so many times as much as each other one */
};

enum run_scenario { RUN_BURST, RUN_STEADY, RUN_WINDOW_EDGE, RUN_MANY_CLIENTS, RUN_COMPARE, RUN_SCENARIOS };

const char *run_scenario_name(enum run_scenario scenario);
int run_scenario_find(const char *name); /* -1 if there is none */

struct run_order {
    enum run_scenario scenario;
    int64_t count;
    int64_t rate; /* millionths a second; 0: as fast as it goes */
    int64_t clients;
};

struct run_plan {
    struct run_order order;
    size_t count;
    int64_t *at_us;        /* ascending */
    unsigned char *client; /* index */
    int64_t edge_us;       /* window_edge: when the edge is; else -1 */
    size_t after_edge;     /* index of the first request behind it */
};

/* Plans a run under `policy`. Of a window_edge run count, rate and clients are the plan's, not the order's,
 * and times wait for run_plan_aim. -1 with words and `*member` named if it cannot be. Free in either case. */
int run_plan_make(struct run_plan *plan, const struct run_order *order, const struct policy *policy,
                  const char **member, struct err *err);
void run_plan_free(struct run_plan *plan);

/* When the next edge of the policy's first limit is, seen from `now_us` (Redis's clock) with the state that
 * `look` tells; a window that is not open yet is opened by the first request. */
int64_t run_plan_edge(const struct policy *policy, const struct limit_state *look, int64_t now_us);

/* Puts one half just before the edge and the other just after it. */
void run_plan_aim(struct run_plan *plan, int64_t edge_us);

int64_t run_plan_length(const struct run_plan *plan); /* when the last is sent */

#endif
