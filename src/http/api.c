/* The demonstration resource behind the policies: ANY /api and below.
 *
 * Path and method choose the policy, the policy's template the key. A request body is not looked at. */
#include <string.h>

#include "base/buf.h"
#include "http/decide.h"
#include "http/handlers.h"
#include "http/services.h"

/* A field given twice has no one value: which of the two would be limited? */
static const char *query_fact(const void *from, const char *name, size_t *len, bool *ambiguous) {
    const struct request *request = from;
    size_t count;
    const struct uri_param *param = uri_param(&request->uri, name, &count);

    if (count > 1) *ambiguous = true;
    if (!param || count > 1) return NULL;
    *len = param->value_len;
    return param->value ? param->value : "";
}

static const char *header_fact(const void *from, const char *name, size_t *len, bool *ambiguous) {
    const struct request *request = from;
    const char *value = request_header(request, name);

    if (!value) return NULL;
    if (request_header_count(request, name) > 1) {
        *ambiguous = true;
        return NULL;
    }
    *len = strlen(value);
    return value;
}

static int render_key(struct request *request, const struct policy *policy, const char *prefix,
                      struct buf *key, struct err *err) {
    struct request_facts facts = {
        .ip = request->client_ip,
        .method = request->method_name,
        .path = request->uri.path,
        .prefix = prefix,
        .policy = policy->name,
        .query = query_fact,
        .header = header_fact,
        .from = request,
    };

    return key_template_render(policy->key, &facts, key, err);
}

void api_handle(struct request *request) {
    const char *prefix = "";
    const struct policy *policy = config_match(request->config, request->uri.path, request->method, &prefix);
    struct buf key = BUF_INIT(KEY_TEXT_MAX);
    struct err err = ERR_INIT;

    if (!policy) {
        respond_problem(request, 404, NULL, "No policy covers %s %s.", request->method_name,
                        request->uri.path);
        return;
    }
    if (render_key(request, policy, prefix, &key, &err) != 0)
        respond_problem(request, 400, NULL, "This request gives policy %s no key: %s", policy->name,
                        err.text);
    else
        decide(request, policy, buf_str(&key), key.len, policy->cost, DECISION_FORM_PLAIN);
    buf_free(&key);
}
