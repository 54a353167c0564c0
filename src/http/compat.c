/* POST /test and POST /config as in the demo servers of the Redis documentation, so that a page or script
 * written for those runs here. Both speak of policy `default`, which must be a token bucket. */
#include <string.h>

#include "base/decimal.h"
#include "base/json_out.h"
#include "http/decide.h"
#include "http/handlers.h"
#include "http/respond.h"
#include "http/services.h"

static const char POLICY[] = "default";
static const char KEY[] = "demo:request";
static const char ALGORITHM[] = "token_bucket";
static const char *const fields[] = {"capacity", "refill_rate", "refill_interval"};
enum { FIELD_COUNT = sizeof fields / sizeof *fields, FORM_JSON_MAX = 4096 };

/* Policy `default` if it is one token bucket, else NULL. */
static const struct policy *demo_policy(const struct config *config) {
    const struct policy *policy = config_policy(config, POLICY, sizeof POLICY - 1);

    if (!policy || policy->limit_count != 1) return NULL;
    return strcmp(policy->limits[0].algorithm->name, ALGORITHM) == 0 ? policy : NULL;
}

static void write_settings(struct json_out *json, const struct policy *policy) {
    const struct limit_settings *limit = &policy->limits[0];

    json_object(json, "config");
    for (size_t i = 0; i < FIELD_COUNT; i++)
        json_micro(json, fields[i], limit->params[algorithm_param(limit->algorithm, fields[i])]);
    json_end(json);
}

static void on_test(struct request *request, const struct decision *decision) {
    const struct policy *policy = demo_policy(request->config);
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    json_begin(&json, &body);
    json_object(&json, NULL);
    json_bool(&json, "allowed", decision->outcome == DECISION_ALLOWED);
    if (decision->count)
        json_int(&json, "remaining", decision->limits[decision->binding].remaining);
    else
        json_null(&json, "remaining");
    write_settings(&json, policy);
    if (!decision->count) json_str(&json, "source", decision_source_name(decision->source));
    json_end(&json);
    respond_rate_headers(request, policy, decision, 200);
    respond_json(request, 200, &body);
}

void compat_test(struct request *request) {
    const struct policy *policy = demo_policy(request->config);

    if (!policy) {
        respond_problem(request, 409, NULL, "/test wants policy %s to be a token bucket, and it is not.",
                        POLICY);
        return;
    }
    decide_then(request, policy, KEY, sizeof KEY - 1, policy->cost, on_test);
}

static void config_failed(struct request *request, unsigned status, const char *why) {
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    json_begin(&json, &body);
    json_object(&json, NULL);
    json_bool(&json, "success", false);
    json_str(&json, "error", why);
    json_end(&json);
    respond_log_refused(request, why);
    respond_json(request, status, &body);
}

static void on_config(void *arg, struct config *config, bool created, const struct config_refusal *why) {
    struct request *request = arg;
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    const struct policy *policy = config ? demo_policy(config) : NULL;
    struct json_out json;

    (void)created;
    if (!policy) { /* what is no valid setting is a bad request to these clients */
        config_failed(request,
                      !why                 ? 409
                      : why->status == 422 ? 400
                                           : why->status,
                      why ? why->err.text : "policy default is no longer a token bucket");
        return;
    }
    respond_log_changed(request, config->version);
    json_begin(&json, &body);
    json_object(&json, NULL);
    json_bool(&json, "success", true);
    write_settings(&json, policy);
    json_end(&json);
    respond_json(request, 200, &body);
}

/* The parameter of that name among the token bucket's. */
static const struct param *field_param(const struct policy *policy, const struct uri_param *field) {
    const struct algorithm *algorithm = policy->limits[0].algorithm;

    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (strlen(fields[i]) == field->name_len && memcmp(fields[i], field->name, field->name_len) == 0)
            return &algorithm->params[algorithm_param(algorithm, fields[i])];
    return NULL;
}

/* Writes one form field as a JSON member, exactly. */
static int write_field(struct json_out *json, const struct policy *policy, const struct uri *form,
                       const struct uri_param *field, struct err *err) {
    const struct param *param = field_param(policy, field);
    char allowed[128];
    int64_t micro;
    size_t count;

    if (!param)
        return err_set(err, "%.64s is no field of /config: capacity, refill_rate, refill_interval",
                       field->name);
    uri_param(form, param->name, &count);
    if (count > 1) return err_set(err, "%s is given twice", param->name);
    if (decimal_parse(field->value, field->value_len, &micro) != DECIMAL_OK) {
        param_allowed(param, allowed, sizeof allowed);
        return err_set(err, "%s must be %s; got \"%.64s\"", param->name, allowed, field->value);
    }
    json_micro(json, param->name, micro);
    return 0;
}

/* The form as a merge patch of the policy. */
static int form_to_patch(const struct request *request, const struct policy *policy, struct buf *patch,
                         struct err *err) {
    struct uri form = {0};
    struct json_out json;
    int result = uri_parse_form(&form, buf_str(&request->body), request->body.len, err);

    if (result == 0 && form.param_count == 0)
        result = err_set(err, "give capacity, refill_rate or refill_interval as form fields");
    json_begin(&json, patch);
    json_object(&json, NULL);
    for (size_t i = 0; result == 0 && i < form.param_count; i++)
        result = write_field(&json, policy, &form, &form.params[i], err);
    json_end(&json);
    uri_free(&form);
    return result;
}

void compat_config(struct request *request) {
    const struct policy *policy = demo_policy(request->config);
    struct buf patch = BUF_INIT(FORM_JSON_MAX);
    struct err err = ERR_INIT;

    if (!policy)
        config_failed(request, 409, "policy default is not a token bucket");
    else if (form_to_patch(request, policy, &patch, &err) != 0)
        config_failed(request, 400, err.text);
    else {
        struct config_change change = {
            .verb = CONFIG_PATCH, .policy = POLICY, .body = buf_str(&patch), .body_len = patch.len};
        config_store_change(request->services->store, &change, CONFIG_ANY_VERSION, on_config, request);
    }
    buf_free(&patch);
}
