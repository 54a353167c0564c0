/* GET /lab/state: how one client of the page stands: the decision it would get, the state of its limits in
 * the algorithm's own terms, and what Redis holds. Takes nothing and writes nothing. */
#include <string.h>

#include "base/decimal.h"
#include "base/json_out.h"
#include "base/xmalloc.h"
#include "http/client_id.h"
#include "http/handlers.h"
#include "http/key_json.h"
#include "http/query.h"
#include "http/respond.h"
#include "http/services.h"
#include "limit/key_admin.h"
#include "limit/key_read.h"

enum field { POLICY, USER, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = {"policy", "user"};

/* What must outlive the handler; freed with the request. */
struct state {
    const struct policy *policy;
    struct decision decision;
    char user[CLIENT_ID_MAX + 1];
    size_t key_len;
    char key[];
};

/* --- answer --- */

/* Of a key that was not read whole the decision still tells this much. */
static size_t describe_decision(const struct limit_settings *limit, const struct limit_state *said,
                                struct algorithm_value *out) {
    out[0] =
        (struct algorithm_value){"used", "Used", "requests", (limit_units(limit) - said->remaining) * MICRO};
    out[1] =
        (struct algorithm_value){"oldest_leaves_in", "Oldest leaves in", "seconds", said->reset_after_us};
    return 2;
}

static size_t describe(const struct state *state, size_t limit_index, const struct key_state *key,
                       struct algorithm_value *out) {
    const struct policy *policy = state->policy;
    const struct limit_settings *limit = &policy->limits[limit_index];
    const struct moment at = {limit->params, state->decision.now_us,
                              policy->on_limit == ON_LIMIT_DELAY ? policy->max_delay_us : 0};
    struct algorithm_state read = {.words = NULL};
    size_t count;

    if (key && key_read(key, limit->algorithm, &read))
        count = limit->algorithm->describe(&at, &read, out);
    else if (limit_index < state->decision.count)
        count = describe_decision(limit, &state->decision.limits[limit_index], out);
    else
        count = 0;
    algorithm_state_free(&read);
    return count;
}

static void write_values(struct json_out *json, const struct algorithm_value *values, size_t count) {
    json_array(json, "values");
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_str(json, "name", values[i].name);
        json_str(json, "title", values[i].title);
        json_str(json, "unit", values[i].unit);
        json_micro(json, "value", values[i].value);
        json_end(json);
    }
    json_end(json);
}

static void write_limits(struct json_out *json, const struct state *state, const struct key_look *look) {
    json_array(json, "limits");
    for (size_t i = 0; i < state->policy->limit_count; i++) {
        const struct limit_settings *limit = &state->policy->limits[i];
        const struct key_state *key = look->why ? NULL : &look->states[i];
        struct algorithm_value values[ALGORITHM_VALUES_MAX];
        json_object(json, NULL);
        json_str(json, "name", limit->name);
        json_str(json, "algorithm", limit->algorithm->name);
        json_int(json, "limit", limit_units(limit));
        write_values(json, values, describe(state, i, key, values));
        if (key) key_json_write(json, key);
        json_end(json);
    }
    json_end(json);
}

static void on_looked(void *arg, const struct key_look *look) {
    struct request *request = arg;
    const struct state *state = request->state;
    const struct decision *decision = &state->decision;
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    json_begin(&json, &body);
    json_object(&json, NULL);
    json_str(&json, "policy", state->policy->name);
    json_str(&json, "user", state->user);
    json_int(&json, "version", (int64_t)request->config->version);
    if (decision->source == SOURCE_REDIS)
        json_micro(&json, "redis_time", decision->now_us);
    else
        json_null(&json, "redis_time");
    if (look->why) json_str(&json, "redis_error", look->why);
    json_object(&json, "decision");
    respond_write_decision(&json, state->policy, state->key, state->key_len, decision);
    json_end(&json);
    write_limits(&json, state, look);
    json_end(&json);
    respond_json(request, 200, &body);
}

static void on_decision(void *arg, const struct decision *decision) {
    struct request *request = arg;
    struct state *state = request->state;

    state->decision = *decision;
    key_admin_look(request->services->keys, state->policy, state->key, state->key_len, on_looked, request);
}

/* --- request --- */

/* False if it has been answered. */
static bool check(struct request *request, const struct uri_param *const *fields) {
    struct err err = ERR_INIT;

    for (int i = 0; i < FIELD_COUNT; i++) {
        if (fields[i] && fields[i]->value_len > 0) continue;
        respond_problem(request, 400, field_names[i], "%s is missing; /lab/state needs ?policy=NAME&user=ID.",
                        field_names[i]);
        return false;
    }
    if (strlen(fields[USER]->value) == fields[USER]->value_len &&
        client_id_check(fields[USER]->value, "user", &err) == 0)
        return true;
    respond_problem(request, 400, "user", "%s.", err.text[0] ? err.text : "user must not hold a NUL");
    return false;
}

static void look(struct request *request, const struct policy *policy, const char *user,
                 const struct buf *key) {
    struct state *state = xcalloc(1, sizeof *state + key->len + 1);

    state->policy = policy;
    state->key_len = key->len;
    memcpy(state->key, buf_str(key), key->len);
    memcpy(state->user, user, strlen(user) + 1);
    request->state = state;
    limiter_decide(request->services->limiter, policy, state->key, state->key_len, policy->cost, LIMITER_LOOK,
                   on_decision, request);
}

void lab_state(struct request *request) {
    const struct uri_param *fields[FIELD_COUNT];
    struct buf key = BUF_INIT(KEY_TEXT_MAX);
    struct err err = ERR_INIT;

    if (!query_read(request, field_names, FIELD_COUNT, fields) || !check(request, fields)) return;
    const char *name = fields[POLICY]->value, *user = fields[USER]->value;
    const struct policy *policy = config_policy(request->config, name, fields[POLICY]->value_len);
    if (!policy)
        respond_problem(request, 404, "policy", "There is no policy %.64s.", name);
    else if (client_id_key(request, policy, user, &key, &err) != 0)
        respond_problem(request, 422, "user", "A user alone gives policy %s no key: %s", policy->name,
                        err.text);
    else
        look(request, policy, user, &key);
    buf_free(&key);
}
