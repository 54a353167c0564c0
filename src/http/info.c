/* What anybody may know: the table of algorithms, that the process serves, and whether it decides. */
#include "base/json_out.h"
#include "http/handlers.h"
#include "http/respond.h"
#include "http/services.h"
#include "limit/algorithm.h"

static void write_param(struct json_out *json, const struct param *param) {
    json_object(json, NULL);
    json_str(json, "name", param->name);
    json_str(json, "title", param->title);
    json_str(json, "unit", param->unit);
    json_str(json, "summary", param->summary);
    json_micro(json, "minimum", param->min);
    json_micro(json, "maximum", param->max);
    json_micro(json, "default", param->fallback);
    json_bool(json, "whole", param->whole);
    json_end(json);
}

static void write_algorithm(struct json_out *json, const struct algorithm *algorithm) {
    json_object(json, NULL);
    json_str(json, "name", algorithm->name);
    json_str(json, "title", algorithm->title);
    json_str(json, "summary", algorithm->summary);
    json_array(json, "parameters");
    for (size_t i = 0; i < algorithm->param_count; i++)
        write_param(json, &algorithm->params[i]);
    json_end(json);
    json_end(json);
}

void info_algorithms(struct request *request) {
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    json_begin(&json, &body);
    json_object(&json, NULL);
    json_array(&json, "algorithms");
    for (size_t i = 0; i < algorithm_count; i++)
        write_algorithm(&json, algorithms[i]);
    json_end(&json);
    json_end(&json);
    respond_json(request, 200, &body);
}

void info_health(struct request *request) {
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    json_begin(&json, &body);
    json_object(&json, NULL);
    json_str(&json, "status", "ok");
    json_str(&json, "version", RATELIMITD_VERSION);
    json_end(&json);
    respond_json(request, 200, &body);
}

/* A policy that refuses everything while Redis is away, or NULL. */
static const struct policy *closed_policy(const struct config *config) {
    for (size_t i = 0; i < config->policy_count; i++)
        if (config->policies[i].on_redis_error == ON_REDIS_ERROR_CLOSED) return &config->policies[i];
    return NULL;
}

static void respond_ready(struct request *request, bool redis) {
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    json_begin(&json, &body);
    json_object(&json, NULL);
    json_str(&json, "status", "ready");
    json_str(&json, "redis", redis ? "up" : "down");
    json_end(&json);
    respond_json(request, 200, &body);
}

static void on_pong(void *arg, enum redis_status status, const struct redis_value *value, const char *error) {
    struct request *request = arg;
    const struct policy *closed = closed_policy(request->config);
    const char *why = error ? error : redis_link_why(request->services->link);

    (void)value;
    if (status == REDIS_OK || !closed) {
        respond_ready(request, status == REDIS_OK);
        return;
    }
    request_reply_header(request, "Retry-After", "1");
    respond_problem(request, 503, NULL,
                    "Redis is away (%s), and policy %s lets nothing pass without it (on_redis_error closed).",
                    *why ? why : "the connection was lost", closed->name);
}

/* Asked anew each time: without traffic nobody else would notice that Redis no longer answers. */
void info_ready(struct request *request) {
    static const char *const words[] = {"PING"};
    static const size_t lengths[] = {4};

    if (request_draining(request))
        respond_problem(request, 503, NULL, "The server is stopping.");
    else
        redis_link_command(request->services->link, 1, words, lengths, on_pong, request);
}
