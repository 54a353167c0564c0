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
    {409, "Conflict"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
};

const char *respond_status_words(unsigned status) {
    for (size_t i = 0; i < sizeof status_words / sizeof *status_words; i++)
        if (status_words[i].status == status) return status_words[i].words;
    return "Error";
}

void respond_security_headers(struct request *request) {
    request_reply_header(request, "X-Content-Type-Options", "nosniff");
    request_reply_header(request, "Referrer-Policy", "no-referrer");
    request_reply_header(request, "Cross-Origin-Resource-Policy", "same-origin");
}

static void send_fresh(struct request *request, unsigned status, const char *type, struct buf *body) {
    respond_security_headers(request);
    request_reply_header(request, "Cache-Control", "no-store");
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

static void write_problem(struct buf *body, unsigned status, const char *member, const char *detail) {
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
    write_problem(&body, status, member, detail);
    respond_problem_body(request, status, &body);
}

void respond_log_refused(const struct request *request, const char *why) {
    log_info("refused %s %s from %s: %s", request->method_name, request->uri.path, request->client_ip, why);
}

void respond_log_changed(const struct request *request, uint64_t version) {
    log_info("%s %s from %s: configuration version %" PRIu64, request->method_name, request->uri.path,
             request->client_ip, version);
}
