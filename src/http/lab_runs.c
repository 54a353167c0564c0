/* POST /lab/runs: reads what is to be fired, by whom and under which policy.
 *
 * Fires nothing: lab_run.c. Plans nothing: run_plan.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/xmalloc.h"
#include "config/json_form.h"
#include "http/client_id.h"
#include "http/handlers.h"
#include "http/lab.h"
#include "http/lab_run.h"
#include "http/respond.h"
#include "http/services.h"

enum { ABSENT = -1, SCENARIO_MAX = 32, COUNT_DEFAULT = 30, MANY_CLIENTS_DEFAULT = 50 };

struct order {
    char policy[POLICY_NAME_MAX + 1], user[RUN_ID_MAX + 1], scenario[SCENARIO_MAX];
    int64_t count, rate, clients; /* millionths */
};

static bool refuse(struct request *request, unsigned status, const char *member, const char *words) {
    respond_log_refused(request, words);
    respond_problem(request, status, member, "%s.", words);
    return false;
}

static bool read_order(struct request *request, struct order *order) {
    const struct json_form_member members[] = {
        {"policy", true, false, order->policy, sizeof order->policy, NULL},
        {"user", true, false, order->user, sizeof order->user, NULL},
        {"scenario", false, false, order->scenario, sizeof order->scenario, NULL},
        {"count", false, true, NULL, 0, &order->count},
        {"rate", false, false, NULL, 0, &order->rate},
        {"clients", false, true, NULL, 0, &order->clients},
    };
    struct config_refusal why = {0};

    if (json_form_read(buf_str(&request->body), request->body.len, members, sizeof members / sizeof *members,
                       &why) == 0)
        return true;
    return refuse(request, why.status, why.member, why.err.text);
}

static bool read_scenario(struct request *request, const struct order *order, enum run_scenario *scenario) {
    int found = run_scenario_find(order->scenario);

    *scenario = (enum run_scenario)found;
    return found >= 0 || refuse(request, 422, "scenario",
                                "scenario must be burst, steady, window_edge, many_clients or compare");
}

static bool make_plan(struct request *request, const struct order *order, struct run_start *start) {
    enum run_scenario scenario;
    const char *member = "";
    struct err err = ERR_INIT;

    if (!read_scenario(request, order, &scenario)) return false;
    int64_t clients = scenario == RUN_MANY_CLIENTS ? MANY_CLIENTS_DEFAULT : 1;
    struct run_order plan = {.scenario = scenario,
                             .count = order->count / MICRO,
                             .rate = order->rate,
                             .clients = order->clients == ABSENT ? clients : order->clients / MICRO};
    if (run_plan_make(&start->plan, &plan, start->policy, &member, &err) == 0) return true;
    run_plan_free(&start->plan);
    return refuse(request, 422, member, err.text);
}

/* --- keys --- */

static void add_key(struct run_keys *keys, size_t client, struct buf *key) {
    size_t i = 0;

    while (i < keys->count &&
           (keys->len[i] != key->len || memcmp(keys->text[i], buf_str(key), key->len) != 0))
        i++;
    keys->of_client[client] = (unsigned char)i;
    if (i < keys->count) return;
    keys->len[i] = key->len;
    keys->text[i] = buf_take(key);
    keys->count++;
}

/* The names of a run's clients: that of the user, or it with a number behind. */
static void client_name(const struct run_start *start, size_t client, char *out, size_t size) {
    if (start->plan.order.clients == 1)
        snprintf(out, size, "%s", start->user);
    else
        snprintf(out, size, "%s-%zu", start->user, client + 1);
}

/* Compared algorithms meet new clients each time, of whom nobody else knows. */
static void make_compared_keys(struct run_start *start) {
    for (size_t client = 0; client < (size_t)start->plan.order.clients; client++) {
        struct buf key = BUF_INIT(KEY_TEXT_MAX);
        buf_addf(&key, "compare:%" PRIx64 ":%s-%zu", (uint64_t)clock_wall_us(), start->user, client + 1);
        add_key(&start->keys, client, &key);
        buf_free(&key);
    }
}

static int make_keys(const struct request *request, struct run_start *start, struct err *err) {
    char name[2 * RUN_ID_MAX];
    int result = 0;

    for (size_t client = 0; result == 0 && client < (size_t)start->plan.order.clients; client++) {
        struct buf key = BUF_INIT(KEY_TEXT_MAX);
        client_name(start, client, name, sizeof name);
        result = client_id_check(name, "user", err);
        if (result == 0) result = client_id_key(request, start->policy, name, &key, err);
        if (result == 0) add_key(&start->keys, client, &key);
        buf_free(&key);
    }
    return result;
}

static bool read_keys(struct request *request, struct run_start *start) {
    struct err err = ERR_INIT;

    if (client_id_check(start->user, "user", &err) == 0) {
        if (start->plan.order.scenario == RUN_COMPARE) {
            make_compared_keys(start);
            return true;
        }
        if (make_keys(request, start, &err) == 0) return true;
    }
    return refuse(request, 422, "user", err.text);
}

static bool read_start(struct request *request, struct run_start *start) {
    struct order order = {.scenario = "burst", .count = COUNT_DEFAULT * MICRO, .clients = ABSENT};

    if (!read_order(request, &order)) return false;
    snprintf(start->user, sizeof start->user, "%s", order.user);
    start->policy = config_policy(request->config, order.policy, strlen(order.policy));
    if (!start->policy) {
        respond_problem(request, 404, "policy", "There is no policy %.64s.", order.policy);
        return false;
    }
    return make_plan(request, &order, start) && read_keys(request, start);
}

void lab_runs(struct request *request) {
    struct lab *lab = request->services->lab;
    struct run_start start = {.policy = NULL};

    if (request_draining(request)) {
        respond_problem(request, 503, NULL, "The server is stopping.");
    } else if (read_start(request, &start)) {
        if (lab_run_enter(lab)) {
            lab_run_begin(request, &start);
            return;
        }
        respond_problem(request, 409, NULL, "Two runs are already going. Wait or stop one.");
    }
    run_plan_free(&start.plan);
    run_keys_free(&start.keys);
}
