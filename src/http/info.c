/* What anybody may know: the table of algorithms, and that the process serves. */
#include "base/json_out.h"
#include "http/handlers.h"
#include "http/respond.h"
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
