/* A run as text. It adds nothing up: that is run_tally's. */
#include "http/lab_run_lines.h"

#include "base/decimal.h"
#include "base/json_out.h"

enum { COLUMN_MAX = 512 * 1024 };

void run_lines_init(struct run_lines *lines, bool compared) {
    const struct buf column = BUF_INIT(COLUMN_MAX);

    *lines = (struct run_lines){compared, 0, column, column, column, column, column, column};
}

void run_lines_free(struct run_lines *lines) {
    buf_free(&lines->times);
    buf_free(&lines->clients);
    buf_free(&lines->outcomes);
    buf_free(&lines->states);
    buf_free(&lines->waits);
    buf_free(&lines->rows);
}

static void add(const struct run_lines *lines, struct buf *column, int64_t value) {
    if (lines->count > 0) buf_addc(column, ',');
    buf_add_int(column, value);
}

void run_lines_add(struct run_lines *lines, int64_t at_us, unsigned client, size_t row,
                   const struct decision *decision) {
    add(lines, &lines->times, at_us / 1000);
    add(lines, &lines->clients, client);
    buf_addc(&lines->outcomes, run_outcome_letter(run_outcome_of(decision)));
    add(lines, &lines->states,
        decision->count ? decision->limits[decision->binding].remaining * 100 : -1); /* -1: not known */
    add(lines, &lines->waits, (run_wait_of(decision) + 999) / 1000);
    add(lines, &lines->rows, (int64_t)row);
    lines->count++;
}

static void take(struct buf *out, const char *name, struct buf *column) {
    buf_adds(out, name);
    buf_add(out, buf_str(column), column->len);
    buf_clear(column);
}

void run_lines_take(struct run_lines *lines, struct buf *out) {
    take(out, "{\"t\":[", &lines->times);
    take(out, "],\"c\":[", &lines->clients);
    take(out, "],\"o\":\"", &lines->outcomes);
    take(out, "\",\"s\":[", &lines->states);
    take(out, "],\"w\":[", &lines->waits);
    if (lines->compared) take(out, "],\"a\":[", &lines->rows);
    buf_adds(out, "]}\n");
    buf_clear(&lines->rows);
    lines->count = 0;
}

/* --- first and last --- */

static void write_limits(struct json_out *json, const struct policy *policy) {
    json_array(json, "limits");
    for (size_t i = 0; i < policy->limit_count; i++) {
        const struct limit_settings *limit = &policy->limits[i];
        json_object(json, NULL);
        json_str(json, "name", limit->name);
        json_str(json, "algorithm", limit->algorithm->name);
        for (size_t p = 0; p < limit->algorithm->param_count; p++)
            json_micro(json, limit->algorithm->params[p].name, limit->params[p]);
        json_micro(json, "time", limit->algorithm->window_us(limit->params));
        json_end(json);
    }
    json_end(json);
}

static void write_prediction(struct json_out *json, const struct run_row *row) {
    if (!row->foretold) {
        json_null(json, "prediction");
        return;
    }
    json_object(json, "prediction");
    json_int(json, "allowed", (int64_t)row->prediction.allowed);
    json_int(json, "least", (int64_t)row->prediction.least);
    json_int(json, "most", (int64_t)row->prediction.most);
    json_int(json, "most_in_window", (int64_t)row->prediction.most_in_window);
    json_seconds_ms(json, "longest_wait", row->prediction.longest_wait_us);
    json_end(json);
}

static void write_plan(struct json_out *json, const struct run_told *told) {
    const struct run_plan *plan = told->plan;

    json_object(json, "plan");
    json_str(json, "scenario", run_scenario_name(plan->order.scenario));
    json_str(json, "policy", told->policy);
    json_str(json, "user", told->user);
    json_int(json, "count", (int64_t)plan->count);
    json_micro(json, "rate", plan->order.rate);
    json_int(json, "clients", plan->order.clients);
    json_seconds_ms(json, "seconds", run_plan_length(plan));
    if (plan->edge_us >= 0) json_micro(json, "edge", plan->edge_us);
    json_end(json);
}

static void write_rows(struct json_out *json, const struct run_told *told) {
    json_array(json, "rows");
    for (size_t i = 0; i < told->row_count; i++) {
        const struct run_row *row = &told->rows[i];
        json_object(json, NULL);
        json_str(json, "algorithm", row->policy->limits[0].algorithm->name);
        write_limits(json, row->policy);
        write_prediction(json, row);
        json_end(json);
    }
    json_end(json);
}

void run_lines_first(const struct run_told *told, struct buf *out) {
    struct json_out json;

    json_begin(&json, out);
    json_object(&json, NULL);
    write_plan(&json, told);
    json_int(&json, "version", (int64_t)told->config_version);
    if (told->redis_us)
        json_micro(&json, "redis_time", told->redis_us);
    else
        json_null(&json, "redis_time");
    if (told->unforetold) json_str(&json, "no_prediction", told->unforetold);
    if (told->plan->order.scenario == RUN_COMPARE) {
        write_rows(&json, told);
    } else {
        write_limits(&json, told->rows[0].policy);
        write_prediction(&json, &told->rows[0]);
    }
    json_end(&json);
    buf_addc(out, '\n');
}

/* Whether it went as foretold; null where nothing was, or not all of it was sent. */
static void write_match(struct json_out *json, const struct run_row *row, const struct run_totals *totals) {
    const size_t *counts = row->tally.counts;
    size_t admitted = counts[RUN_ALLOWED] + counts[RUN_DELAYED];

    if (!row->foretold || totals->stopped || totals->dropped > 0)
        json_null(json, "matches");
    else
        json_bool(json, "matches", admitted >= row->prediction.least && admitted <= row->prediction.most);
}

static void write_tally(struct json_out *json, struct run_row *row, const struct run_totals *totals) {
    const struct limit_settings *limit = &row->policy->limits[0];
    int64_t window_us = limit->algorithm->window_us(limit->params);
    const size_t *counts = row->tally.counts;

    json_int(json, "allowed", (int64_t)counts[RUN_ALLOWED]);
    json_int(json, "denied", (int64_t)counts[RUN_DENIED]);
    json_int(json, "delayed", (int64_t)counts[RUN_DELAYED]);
    json_int(json, "shadow_denied", (int64_t)counts[RUN_SHADOW_DENIED]);
    json_int(json, "errors", (int64_t)counts[RUN_ERROR]);
    json_int(json, "most_in_window", (int64_t)run_tally_most(&row->tally, window_us));
    json_micro(json, "window", window_us);
    json_seconds_ms(json, "longest_wait", row->tally.longest_wait_us);
    write_prediction(json, row);
    write_match(json, row, totals);
}

static void write_results(struct json_out *json, const struct run_told *told,
                          const struct run_totals *totals) {
    json_array(json, "rows");
    for (size_t i = 0; i < told->row_count; i++) {
        json_object(json, NULL);
        json_str(json, "algorithm", told->rows[i].policy->limits[0].algorithm->name);
        write_tally(json, &told->rows[i], totals);
        json_end(json);
    }
    json_end(json);
}

/* Requests a second, in millionths. At a rate n requests span n - 1 intervals: 15 at 1.5/s take 9.33 s. */
static int64_t achieved(const struct run_told *told, const struct run_totals *totals) {
    int64_t count = (int64_t)(totals->sent / told->row_count); /* compared: to each */
    int64_t spans = told->plan->order.rate > 0 && count > 0 ? count - 1 : count;

    return totals->took_us > 0 ? spans * MICRO * MICRO / totals->took_us : 0;
}

void run_lines_last(const struct run_told *told, const struct run_totals *totals, struct buf *out) {
    struct json_out json;

    json_begin(&json, out);
    json_object(&json, NULL);
    json_bool(&json, "done", true);
    json_int(&json, "sent", (int64_t)(totals->sent / told->row_count)); /* compared: to each */
    json_int(&json, "dropped", (int64_t)(totals->dropped / told->row_count));
    json_seconds_ms(&json, "seconds", totals->took_us);
    json_micro(&json, "rate", achieved(told, totals));
    if (totals->stopped)
        json_str(&json, "stopped", totals->stopped);
    else
        json_null(&json, "stopped");
    if (told->plan->edge_us >= 0) json_micro(&json, "edge", told->plan->edge_us);
    if (told->plan->order.scenario == RUN_COMPARE)
        write_results(&json, told, totals);
    else
        write_tally(&json, &told->rows[0], totals);
    json_end(&json);
    buf_addc(out, '\n');
}
