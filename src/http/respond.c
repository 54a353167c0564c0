/* Answers in the house's forms: JSON, problem+json, nothing at all.
 *
 * Knows no decisions (respond_decision.c) and no routes. */
#include "http/respond.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "base/log.h"

enum { DETAIL_MAX = 1024 };

static const struct {
    unsigned status;
    const char *words;
} status_words[] = {
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

const char *respond_status_words(unsigned status) {
    for (size_t i = 0; i < sizeof status_words / sizeof *status_words; i++)
        if (status_words[i].status == status) return status_words[i].words;
    return "Error";
}

const struct respond_header respond_fixed_headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};
const size_t respond_fixed_header_count = sizeof respond_fixed_headers / sizeof *respond_fixed_headers;

void respond_security_headers(struct request *request) {
    for (size_t i = 0; i < respond_fixed_header_count; i++)
        request_reply_fixed(request, respond_fixed_headers[i].name, respond_fixed_headers[i].value);
}

static void send_fresh(struct request *request, unsigned status, const char *type, struct buf *body) {
    respond_security_headers(request);
    request_reply_fixed(request, "Cache-Control", "no-store");
    request_send(request, status, type, body);
}

/* With a line end, for people at a terminal. */
static void send_json(struct request *request, unsigned status, const char *type, struct buf *body) {
    buf_addc(body, '\n');
    send_fresh(request, status, type, body);
    buf_free(body);
}

void respond_json(struct request *request, unsigned status, struct buf *body) {
    send_json(request, status, "application/json", body);
}

void respond_problem_body(struct request *request, unsigned status, struct buf *body) {
    send_json(request, status, "application/problem+json", body);
}

void respond_text(struct request *request, unsigned status, const char *media_type, struct buf *body) {
    send_fresh(request, status, media_type, body);
    buf_free(body);
}

void respond_empty(struct request *request, unsigned status) {
    send_fresh(request, status, NULL, NULL);
}

void respond_problem_text(struct buf *body, unsigned status, const char *member, const char *detail) {
    struct json_out json;

    json_begin(&json, body);
    json_object(&json, NULL);
    json_str(&json, "type", "about:blank");
    json_str(&json, "title", respond_status_words(status));
    json_int(&json, "status", status);
    json_str(&json, "detail", detail);
    json_str(&json, "error", detail);
    if (member && *member) json_str(&json, "member", member);
    json_end(&json);
}

void respond_problem(struct request *request, unsigned status, const char *member, const char *fmt, ...) {
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    char detail[DETAIL_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(detail, sizeof detail, fmt, args);
    va_end(args);
    respond_problem_text(&body, status, member, detail);
    respond_problem_body(request, status, &body);
}

void respond_log_refused(const struct request *request, const char *why) {
    log_info("refused %s %s from %s: %s", request->method_name, request->uri.path, request->client_ip, why);
}

void respond_log_changed(const struct request *request, uint64_t version) {
    log_info("%s %s from %s: configuration version %" PRIu64, request->method_name, request->uri.path,
             request->client_ip, version);
}
