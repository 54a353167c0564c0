/* The rate limit headers of a decision: X-RateLimit-*, the fields of draft-ietf-httpapi-ratelimit-headers-11,
 * Retry-After.
 *
 * Knows no connection: each header goes to the caller's function. Allocates nothing, since every answer
 * passes here. */
#include "limit/rate_headers.h"

#include <string.h>

#include "base/decimal.h"

struct line {
    char text[RATE_LINE_MAX];
    size_t len;
};

struct sink {
    rate_header_fn *add;
    void *arg;
};

int64_t seconds_up(int64_t us) {
    return us / MICRO + (us % MICRO > 0);
}

/* What does not fit is left out: by RATE_LINE_MAX nothing is. */
static void line_add(struct line *line, const char *text, size_t len) {
    if (len >= sizeof line->text - line->len) return;
    memcpy(line->text + line->len, text, len);
    line->len += len;
    line->text[line->len] = '\0';
}

static void line_adds(struct line *line, const char *text) {
    line_add(line, text, strlen(text));
}

static void line_add_int(struct line *line, const char *label, int64_t value) {
    char text[DECIMAL_TEXT_MAX];
    line_adds(line, label);
    line_add(line, text, decimal_whole(value, text));
}

static void add_int(const struct sink *sink, const char *name, int64_t value) {
    char text[DECIMAL_TEXT_MAX];
    decimal_whole(value, text);
    sink->add(sink->arg, name, text);
}

/* The quoted name of one limit: the policy's alone where there is but one. */
static void line_add_name(struct line *line, const struct policy *policy, size_t i) {
    line_adds(line, line->len > 0 ? ", \"" : "\"");
    line_adds(line, policy->name);
    if (policy->limit_count > 1) {
        line_adds(line, "/");
        line_adds(line, policy->limits[i].name);
    }
    line_adds(line, "\"");
}

/* Whole seconds of a limit's window, at least 1: a `w` of 0 would say nothing. */
static int64_t window_seconds(const struct limit_settings *limit) {
    int64_t seconds = seconds_up(limit->algorithm->window_us(limit->params));
    return seconds > 0 ? seconds : 1;
}

static void add_policy_field(const struct sink *sink, const struct policy *policy, size_t count) {
    struct line line;
    line.len = 0; /* its text is filled as far as it is used */
    for (size_t i = 0; i < count; i++) {
        line_add_name(&line, policy, i);
        line_add_int(&line, ";q=", limit_units(&policy->limits[i]));
        line_add_int(&line, ";w=", window_seconds(&policy->limits[i]));
    }
    sink->add(sink->arg, "RateLimit-Policy", line.text);
}

static void add_state_field(const struct sink *sink, const struct policy *policy,
                            const struct decision *decision) {
    struct line line;
    line.len = 0; /* its text is filled as far as it is used */
    for (size_t i = 0; i < decision->count; i++) {
        line_add_name(&line, policy, i);
        line_add_int(&line, ";r=", decision->limits[i].remaining);
        line_add_int(&line, ";t=", seconds_up(decision->limits[i].reset_after_us));
    }
    sink->add(sink->arg, "RateLimit", line.text);
}

/* A client that is told to wait 0 seconds would come back at once and be denied again. */
static void add_retry_after(const struct sink *sink, const struct limit_state *state) {
    int64_t seconds = seconds_up(state->retry_after_us);
    add_int(sink, "Retry-After", seconds > 0 ? seconds : 1);
}

void rate_headers(const struct policy *policy, const struct decision *decision, int64_t wall_us, bool fields,
                  rate_header_fn *add, void *arg) {
    const struct sink sink = {add, arg};
    if (decision->outcome == DECISION_UNAVAILABLE) return;
    if (decision->count == 0) {
        add_int(&sink, "X-RateLimit-Limit", limit_units(&policy->limits[0]));
        return;
    }
    const struct limit_state *state = &decision->limits[decision->binding];
    add_int(&sink, "X-RateLimit-Limit", limit_units(&policy->limits[decision->binding]));
    add_int(&sink, "X-RateLimit-Remaining", state->remaining);
    add_int(&sink, "X-RateLimit-Reset", seconds_up(wall_us + state->reset_after_us));
    if (fields) {
        add_policy_field(&sink, policy, decision->count);
        add_state_field(&sink, policy, decision);
    }
    if (decision->outcome == DECISION_DENIED) add_retry_after(&sink, state);
}
