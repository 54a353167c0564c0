/* /check: a decision for somebody else, who names policy, key and cost in the query; or, without policy and
 * key, for the original request that a gateway tells of (gateway.c).
 *
 * The key is K itself, its exact bytes: `alice`, `ALICE` and `alice%20` are three clients. Bytes that are no
 * valid UTF-8 are kept in the Redis key (percent-encoded) and shown as U+FFFD in JSON. A request body is not
 * read for parameters: what a gateway passes on is its client's. */
#include <string.h>

#include "base/json_out.h"
#include "http/bearer.h"
#include "http/client_ip.h"
#include "http/decide.h"
#include "http/fields.h"
#include "http/handlers.h"
#include "http/services.h"
#include "http/subject.h"
#include "limit/key_template.h"

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
    struct request *request = check->request;
    const char *token = request->services->check_token;
    enum bearer bearer;

    if (client_ip_loopback(request->peer) || request->peer_trusted) return true;
    bearer = token ? bearer_check(request, token) : BEARER_WRONG;
    if (bearer == BEARER_RIGHT) return true;
    if (bearer == BEARER_LATER)
        return REFUSE(check, 403, NULL,
                      "Too many wrong tokens came from your address, so that none is looked at for now; try "
                      "again after Retry-After.");
    respond_log_refused(request, "neither on this machine, nor a trusted proxy, nor with the check token");
    return REFUSE(
        check, 403, NULL,
        "/check answers callers on this machine, trusted proxies (--trusted-proxy), and whoever sends "
        "\"Authorization: Bearer TOKEN\" with the token of --check-token-file.");
}

static bool read_key(struct check *check) {
    return check->fields[KEY]->value_len <= KEY_MAX ||
           REFUSE(check, 400, "key", "key must be 1 to %d bytes; got %zu.", KEY_MAX,
                  check->fields[KEY]->value_len);
}

static void decide_for(const struct check *check, const char *key, size_t key_len) {
    enum decision_form form = check->gateway ? DECISION_FORM_GATEWAY : DECISION_FORM_PLAIN;
    bool peek = check->cost == 0;

    decide_request(check->request, check->policy, key, key_len, peek ? check->policy->cost : check->cost,
                   peek ? DECISION_FORM_PEEK : form);
}

/* A gateway asks about everything, and most of it need not be limited: no policy, no limit. */
static void let_through(const struct check *check, const struct subject *subject) {
    struct buf body = BUF_INIT(RESPOND_BODY_MAX), words = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    buf_addf(&words, "No policy covers %s %s.", subject->method_name, subject->uri->path);
    json_begin(&json, &body);
    json_object(&json, NULL);
    json_bool(&json, "allowed", true);
    json_null(&json, "policy");
    json_str(&json, "detail", buf_str(&words));
    json_end(&json);
    buf_free(&words);
    respond_json(check->request, 200, &body);
}

static void decide_subject(struct check *check, const struct subject *subject) {
    const char *prefix = "";
    struct buf key = BUF_INIT(KEY_TEXT_MAX);
    struct err err = ERR_INIT;

    check->policy = subject_policy(subject, &prefix);
    if (!check->policy) {
        let_through(check, subject);
    } else if (subject_key(subject, check->policy, prefix, &key, &err) != 0) {
        (void)REFUSE(check, 400, NULL, "The original request gives policy %s no key: %s", check->policy->name,
                     err.text);
    } else if (read_cost(check)) {
        decide_for(check, buf_str(&key), key.len);
    }
    buf_free(&key);
}

static void decide_original(struct check *check) {
    struct subject subject;
    struct uri uri;
    struct err err = ERR_INIT;

    if (gateway_read(check->request, &subject, &uri, &err) == 0) {
        decide_subject(check, &subject);
    } else {
        respond_log_refused(check->request, err.text);
        (void)REFUSE(check, 400, NULL, "%s", err.text);
    }
    uri_free(&uri);
}

void check_original(struct request *request) {
    struct check check = {.request = request};

    decide_original(&check);
}

void check_handle(struct request *request) {
    struct check check = {.request = request};

    if (!read_deny_status(&check) || !may_call(&check) || !read_fields(&check)) return;
    if (!check.fields[POLICY] && !check.fields[KEY] && gateway_tells(request)) {
        decide_original(&check);
    } else if (require(&check, POLICY) && require(&check, KEY) && read_key(&check) && read_policy(&check) &&
               read_cost(&check)) {
        decide_for(&check, check.fields[KEY]->value, check.fields[KEY]->value_len);
    }
}
