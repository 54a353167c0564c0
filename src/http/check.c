/* GET|POST /check: a decision for somebody else, who names policy, key and cost in the query.
 *
 * The key is K itself, its exact bytes: `alice`, `ALICE` and `alice%20` are three clients. Bytes that are no
 * valid UTF-8 are kept in the Redis key (percent-encoded) and shown as U+FFFD in JSON. A request body is not
 * read for parameters: what a gateway passes on is its client's. */
#include <string.h>

#include "http/client_ip.h"
#include "http/decide.h"
#include "http/fields.h"
#include "http/handlers.h"
#include "http/services.h"

enum { KEY_MAX = 4096 };

enum field { POLICY, KEY, COST, DENY_STATUS, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = {"policy", "key", "cost", "deny_status"};

struct check {
    struct request *request;
    const struct uri_param *fields[FIELD_COUNT]; /* NULL: absent */
    bool gateway;                                /* every answer is 200 or 403 */
    const struct policy *policy;
    int64_t cost; /* 0: a peek */
};

static unsigned refusal(const struct check *check, unsigned status) {
    return check->gateway ? 403 : status;
}

#define REFUSE(check, status, field, ...)                                                                    \
    (respond_problem((check)->request, refusal(check, status), field, __VA_ARGS__), false)

static int field_index(const struct uri_param *param) {
    for (int i = 0; i < FIELD_COUNT; i++)
        if (param->name_len == strlen(field_names[i]) &&
            memcmp(param->name, field_names[i], param->name_len) == 0)
            return i;
    return -1;
}

static bool param_is(const struct uri_param *param, const char *text) {
    return param->value_len == strlen(text) && memcmp(param->value, text, param->value_len) == 0;
}

/* Before all else, since it says how refusals are told. */
static bool read_deny_status(struct check *check) {
    size_t count;
    const struct uri_param *param = uri_param(&check->request->uri, field_names[DENY_STATUS], &count);

    check->gateway = param && param_is(param, "403");
    return !param || check->gateway ||
           REFUSE(check, 400, "deny_status", "deny_status must be 403, or left out.");
}

static bool read_fields(struct check *check) {
    const struct uri *uri = &check->request->uri;

    for (size_t i = 0; i < uri->param_count; i++) {
        const struct uri_param *param = &uri->params[i];
        int field = field_index(param);
        if (field < 0)
            return REFUSE(check, 400, param->name,
                          "%.64s is no parameter of /check: policy, key, cost, deny_status.", param->name);
        if (check->fields[field])
            return REFUSE(check, 400, field_names[field], "%s is given twice; give it once.",
                          field_names[field]);
        check->fields[field] = param;
    }
    return true;
}

static bool require(struct check *check, enum field field) {
    const struct uri_param *param = check->fields[field];
    const char *name = field_names[field];

    return (param && param->value_len > 0) ||
           REFUSE(check, 400, name, "%s is %s; /check needs ?policy=NAME&key=KEY.", name,
                  param ? "empty" : "missing");
}

static bool read_policy(struct check *check) {
    const struct uri_param *name = check->fields[POLICY];

    check->policy = config_policy(check->request->config, name->value, name->value_len);
    return check->policy || REFUSE(check, 404, "policy", "There is no policy %.64s.", name->value);
}

static bool read_cost(struct check *check) {
    const struct uri_param *param = check->fields[COST];
    const struct policy *policy = check->policy;

    check->cost = policy->cost;
    if (param && !field_whole(param->value, param->value_len, &check->cost))
        return REFUSE(check, 400, "cost",
                      "cost must be a whole number from 1 to %lld, or 0 to look without taking.",
                      (long long)policy->cost_max);
    return check->cost <= policy->cost_max ||
           REFUSE(check, 422, "cost", "A cost of %lld can never pass: policy %s takes at most %lld at once.",
                  (long long)check->cost, policy->name, (long long)policy->cost_max);
}

static bool may_call(struct check *check) {
    return client_ip_loopback(check->request->peer) ||
           REFUSE(check, 403, NULL,
                  "/check answers callers on this machine only. Call it from here, or use /api.");
}

static bool read_key(struct check *check) {
    return check->fields[KEY]->value_len <= KEY_MAX ||
           REFUSE(check, 400, "key", "key must be 1 to %d bytes; got %zu.", KEY_MAX,
                  check->fields[KEY]->value_len);
}

void check_handle(struct request *request) {
    struct check check = {.request = request};

    if (!read_deny_status(&check) || !may_call(&check) || !read_fields(&check) || !require(&check, POLICY) ||
        !require(&check, KEY) || !read_key(&check) || !read_policy(&check) || !read_cost(&check))
        return;
    const struct uri_param *key = check.fields[KEY];
    enum decision_form form = check.gateway ? DECISION_FORM_GATEWAY : DECISION_FORM_PLAIN;
    bool peek = check.cost == 0;
    decide(request, check.policy, key->value, key->value_len, peek ? check.policy->cost : check.cost,
           peek ? DECISION_FORM_PEEK : form);
}
