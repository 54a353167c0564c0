/* The lines of a run's answer (NDJSON): the plan with its prediction, what was decided, the totals. Writes
 * text; knows no stream and no clock. */
#ifndef RL_HTTP_LAB_RUN_LINES_H
#define RL_HTTP_LAB_RUN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "limit/policy.h"
#include "limit/run_plan.h"
#include "limit/run_prediction.h"
#include "limit/run_tally.h"

/* Decisions that have not been told yet, as parallel arrays. */
struct run_lines {
    bool compared; /* rows are told apart by "a" */
    size_t count;
    struct buf times, clients, outcomes, states, waits, rows;
};
void run_lines_init(struct run_lines *lines, bool compared);
void run_lines_free(struct run_lines *lines);
void run_lines_add(struct run_lines *lines, int64_t at_us, unsigned client, size_t row,
                   const struct decision *decision);
void run_lines_take(struct run_lines *lines, struct buf *out); /* appends one line, and empties them */

/* One policy (or compared algorithm) of a run. */
struct run_row {
    const struct policy *policy;
    bool foretold; /* `prediction` holds */
    struct run_prediction prediction;
    struct run_tally tally;
};

struct run_told {
    const char *policy; /* name */
    const char *user;
    const struct run_plan *plan;
    uint64_t config_version;
    int64_t redis_us;       /* Redis's clock at the start; 0: not known */
    const char *unforetold; /* why there is no prediction; NULL if there is one */
    struct run_row *rows;
    size_t row_count;
};
void run_lines_first(const struct run_told *told, struct buf *out);

struct run_totals {
    size_t sent, dropped;
    int64_t took_us;
    const char *stopped; /* why before its end; NULL */
};
void run_lines_last(const struct run_told *told, const struct run_totals *totals, struct buf *out);

#endif
