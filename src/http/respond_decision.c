/* A decision as HTTP: status, headers and body. See docs/api.md, "Decisions".
 *
 * Decides nothing, and rounds only what is shown: waits up, units down. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "http/respond.h"
#include "http/services.h"
#include "limit/rate_headers.h"

enum {
    DECISION_BODY_MAX = 512 * 1024, /* a key of 16 KiB, every byte of it escaped, fits */
    DECISION_BODY_USUAL = 511,
    DETAIL_MAX = 256
};

static const char TYPE_USED_UP[] = "https://iana.org/assignments/http-problem-types#quota-exceeded";
static const char TYPE_REDUCED[] =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
static const char UNAVAILABLE_RETRY_S[] = "1";

static unsigned status_of(const struct decision *decision, enum decision_form form) {
    if (decision->outcome == DECISION_ALLOWED || form == DECISION_FORM_PEEK) return 200;
    if (form == DECISION_FORM_GATEWAY) return 403;
    return decision->outcome == DECISION_DENIED ? 429 : 503;
}

struct header_sink {
    struct request *request;
    bool refusal;
};

static void add_header(void *arg, const char *name, const char *value) {
    struct header_sink *sink = arg;

    if (!sink->refusal && strcmp(name, "Retry-After") == 0) return; /* a peek or a demo that answers 200 */
    request_reply_header(sink->request, name, value);
}

void respond_rate_headers(struct request *request, const struct policy *policy,
                          const struct decision *decision, unsigned status) {
    struct header_sink sink = {request, status >= 400};

    rate_headers(policy, decision, clock_wall_us(), request->services->ratelimit_fields, add_header, &sink);
    if (decision->outcome == DECISION_UNAVAILABLE && sink.refusal)
        request_reply_header(request, "Retry-After", UNAVAILABLE_RETRY_S);
    if (decision->shadow_denied) request_reply_header(request, "X-RateLimit-Shadow", "denied");
}

static void write_waits(struct json_out *json, const struct limit_state *state) {
    json_int(json, "remaining", state->remaining);
    json_seconds_ms(json, "reset_after", state->reset_after_us);
    json_seconds_ms(json, "retry_after", state->retry_after_us);
}

static void write_limits(struct json_out *json, const struct policy *policy,
                         const struct decision *decision) {
    json_array(json, "limits");
    for (size_t i = 0; i < decision->count; i++) {
        json_object(json, NULL);
        json_str(json, "name", policy->limits[i].name);
        json_int(json, "limit", limit_units(&policy->limits[i]));
        write_waits(json, &decision->limits[i]);
        json_end(json);
    }
    json_end(json);
}

void respond_write_decision(struct json_out *json, const struct policy *policy, const char *key,
                            size_t key_len, const struct decision *decision) {
    const struct limit_settings *limit = &policy->limits[decision->count ? decision->binding : 0];

    json_bool(json, "allowed", decision->outcome == DECISION_ALLOWED);
    json_str(json, "policy", policy->name);
    json_str(json, "algorithm", limit->algorithm->name);
    json_strn(json, "key", key, key_len);
    json_int(json, "cost", decision->cost);
    json_int(json, "limit", limit_units(limit));
    if (decision->count) {
        write_waits(json, &decision->limits[decision->binding]);
        json_seconds_ms(json, "delayed", decision->delayed_us);
    }
    json_str(json, "source", decision_source_name(decision->source));
    if (decision->shadow_denied) json_bool(json, "shadow_denied", true);
    if (decision->count && policy->limit_count > 1) write_limits(json, policy, decision);
}

static void write_violated(struct json_out *json, const struct policy *policy,
                           const struct decision *decision) {
    char name[POLICY_NAME_MAX + LIMIT_NAME_MAX + 2];

    json_array(json, "violated-policies");
    for (size_t i = 0; i < decision->count; i++) {
        if (decision->limits[i].retry_after_us <= 0) continue;
        if (policy->limit_count > 1)
            snprintf(name, sizeof name, "%s/%s", policy->name, policy->limits[i].name);
        json_str(json, NULL, policy->limit_count > 1 ? name : policy->name);
    }
    json_end(json);
}

static void add_seconds(struct buf *out, int64_t us) {
    int64_t ms = us / 1000 + (us % 1000 > 0);
    char decimals[] = {'.', (char)('0' + ms / 100 % 10), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10)};

    buf_add_int(out, ms / 1000);
    buf_add(out, decimals, sizeof decimals);
}

/* Piece by piece: of a denial's instructions printf would take one in fifteen. */
static void detail_denied(struct buf *out, const struct policy *policy, const struct decision *decision) {
    const struct limit_state *state = &decision->limits[decision->binding];

    buf_adds(out, state->remaining == 0 ? "Limit of " : "Of the limit of ");
    buf_add_int(out, limit_units(&policy->limits[decision->binding]));
    buf_adds(out, " for policy ");
    buf_adds(out, policy->name);
    if (state->remaining == 0) {
        buf_adds(out, " is used up");
    } else {
        buf_addc(out, ' ');
        buf_add_int(out, state->remaining);
        buf_adds(out, " is left, and this costs ");
        buf_add_int(out, decision->cost);
    }
    buf_adds(out, "; try again in ");
    add_seconds(out, state->retry_after_us);
    buf_adds(out, " s.");
}

/* The members that make a refusal a problem (RFC 9457), behind the decision's own. */
static void write_refusal(struct json_out *json, unsigned status, const struct policy *policy,
                          const struct decision *decision) {
    bool denied = decision->outcome == DECISION_DENIED;
    const char *title = denied ? "Rate limit exceeded" : "Rate limiter unavailable";
    struct buf detail = BUF_INIT(DETAIL_MAX);

    buf_expect(&detail, DETAIL_MAX);
    if (denied)
        detail_denied(&detail, policy, decision);
    else
        buf_addf(&detail, "Redis cannot be reached, and policy %s refuses requests until it is back.",
                 policy->name);
    json_str(json, "type", denied ? TYPE_USED_UP : TYPE_REDUCED);
    json_str(json, "title", title);
    json_str(json, "error", title);
    json_int(json, "status", status);
    json_strn(json, "detail", buf_str(&detail), detail.len);
    buf_free(&detail);
    if (denied) write_violated(json, policy, decision);
}

void respond_decision(struct request *request, const struct policy *policy, const char *key, size_t key_len,
                      const struct decision *decision, enum decision_form form) {
    unsigned status = status_of(decision, form);
    struct buf body = BUF_INIT(DECISION_BODY_MAX);
    struct json_out json;

    buf_expect(&body, DECISION_BODY_USUAL);
    json_begin(&json, &body);
    json_object(&json, NULL);
    respond_write_decision(&json, policy, key, key_len, decision);
    if (status >= 400) write_refusal(&json, status, policy, decision);
    json_end(&json);
    respond_rate_headers(request, policy, decision, status);
    if (status < 400)
        respond_json(request, status, &body);
    else
        respond_problem_body(request, status, &body);
}
