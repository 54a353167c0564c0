/* The sliding window log: its line of the algorithm table, and its arithmetic, which is that of
 * lua/sliding_window_log.lua.
 *
 * Keeps no states and reads no clock. */
#include "limit/sliding_window_log.h"

#include <stdbool.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/algorithm_field.h"
#include "limit/exact.h"
#include "limit/param_kinds.h"

enum { COST_MAX = 1000, REMOVE_MAX = 1000 };

static int64_t window_us(const int64_t *params) {
    return params[SLIDING_LOG_WINDOW];
}

/* --- a decision --- */

/* A state is a head and then an entry for each admitted request, in order of time. Entries in front of FIRST
 * are gone; their room is used again when they are half of all. Units are counted up from the beginning, so
 * that what a stretch of the log holds is a difference. */
enum { FIRST, UNITS_BEFORE, HEAD }; /* index of the oldest entry; units counted before it */
enum { TIME, UNITS, ENTRY };

struct log {
    const int64_t *entries;
    size_t first, live, end; /* oldest kept, oldest in the window, one past the newest */
    int64_t used, units,
        units_before; /* in the window; counted up to the newest, and before the oldest kept */
    int64_t newest;   /* time */
    int64_t limit, window;
};

static int64_t entry_time(const struct log *log, size_t i) {
    return log->entries[i * ENTRY + TIME];
}

static int64_t entry_units(const struct log *log, size_t i) {
    return log->entries[i * ENTRY + UNITS];
}

/* Of [from, end) the first entry that is younger than `time`: the times ascend. */
static size_t first_after(const struct log *log, int64_t time) {
    size_t low = log->first, high = log->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry_time(log, middle) > time) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static struct log log_at(const struct moment *at, const struct algorithm_state *state) {
    struct log log = {.limit = at->params[SLIDING_LOG_LIMIT] / MICRO,
                      .window = at->params[SLIDING_LOG_WINDOW],
                      .newest = at->now_us};
    if (state->count == 0) return log;
    log.entries = state->words + HEAD;
    log.first = (size_t)state->words[FIRST];
    log.units_before = state->words[UNITS_BEFORE];
    log.end = (state->count - HEAD) / ENTRY;
    log.live = log.end;
    int64_t newest = entry_time(&log, log.end - 1);
    if (newest - at->now_us > log.window) return log; /* further ahead than can be true */
    log.newest = exact_max(newest, at->now_us);       /* the clock may have gone back */
    log.live = first_after(&log, log.newest - log.window);
    if (log.live == log.end) return log;
    log.units = entry_units(&log, log.end - 1);
    log.used = log.units - (log.live > log.first ? entry_units(&log, log.live - 1) : log.units_before);
    return log;
}

static int64_t wait_us(const struct moment *at, const struct algorithm_state *state, int64_t cost) {
    struct log log = log_at(at, state);
    int64_t room = log.limit - exact_ceil(cost, MICRO);
    if (log.used <= room) return 0;
    if (log.live == log.end) return log.window; /* more than ever fits */
    /* The first entry whose leaving makes room: units ascend. */
    size_t low = log.live, high = log.end - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log.units - entry_units(&log, middle) <= room) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return entry_time(&log, low) - at->now_us + log.window;
}

static int64_t fits_now(const struct moment *at, const struct algorithm_state *state) {
    struct log log = log_at(at, state);
    return log.used < log.limit ? (log.limit - log.used) * MICRO : 0;
}

/* Takes entries that are over out of the log, no more at once than the script does. */
static void remove_old(const struct log *log, struct algorithm_state *state) {
    size_t old = log->live - log->first;
    if (log->live == log->end) { /* all of them: begin again */
        algorithm_state_reserve(state, HEAD);
        state->words[FIRST] = state->words[UNITS_BEFORE] = 0;
        state->count = HEAD;
        return;
    }
    if (old > REMOVE_MAX) old = REMOVE_MAX;
    if (old == 0) return;
    size_t first = log->first + old;
    state->words[UNITS_BEFORE] = entry_units(log, first - 1);
    state->words[FIRST] = (int64_t)first;
    if (first < log->end / 2) return;
    memmove(state->words + HEAD, state->words + HEAD + first * ENTRY,
            (log->end - first) * ENTRY * sizeof *state->words);
    state->words[FIRST] = 0;
    state->count -= first * ENTRY;
}

static void take(const struct moment *at, struct algorithm_state *state, int64_t cost) {
    struct log log = log_at(at, state);
    remove_old(&log, state);
    algorithm_state_reserve(state, state->count + ENTRY);
    state->words[state->count + TIME] = log.newest;
    state->words[state->count + UNITS] = log.units + exact_ceil(cost, MICRO);
    state->count += ENTRY;
}

/* Until the newest entry leaves the window. */
static int64_t ttl_us(const struct moment *at, const struct algorithm_state *state) {
    struct log log = log_at(at, state);
    return log.live == log.end ? 0 : entry_time(&log, log.end - 1) - at->now_us + log.window;
}

/* --- a state for people --- */

/* A member is "<units>:<cost>", its score the time. */
static bool read_entry(const struct algorithm_field *field, int64_t *units, int64_t *cost, int64_t *time) {
    const char *colon = memchr(field->name, ':', field->name_len);
    size_t len = colon ? (size_t)(colon - field->name) : 0;

    return colon && algorithm_field_whole(field->name, len, units) &&
           algorithm_field_whole(colon + 1, field->name_len - len - 1, cost) && *cost >= 1 &&
           *cost <= *units && algorithm_field_whole(field->value, field->value_len, time);
}

static bool read_state(const struct algorithm_field *fields, size_t count, struct algorithm_state *state) {
    struct algorithm_state read = {.words = NULL};
    int64_t units, cost, time, last = 0;

    algorithm_state_reserve(&read, HEAD + count * ENTRY);
    read.count = HEAD;
    for (size_t i = 0; i < count; i++) {
        if (!read_entry(&fields[i], &units, &cost, &time) || units <= last) {
            algorithm_state_free(&read);
            return false;
        }
        if (i == 0) read.words[UNITS_BEFORE] = units - cost;
        read.words[read.count + TIME] = time;
        read.words[read.count + UNITS] = last = units;
        read.count += ENTRY;
    }
    read.words[FIRST] = 0;
    if (count == 0) read.count = 0;
    algorithm_state_free(state);
    *state = read;
    return true;
}

static size_t describe(const struct moment *at, const struct algorithm_state *state,
                       struct algorithm_value *out) {
    struct log log = log_at(at, state);
    bool empty = log.live == log.end;

    out[0] = (struct algorithm_value){"used", "Used", "requests", log.used * MICRO};
    out[1] = (struct algorithm_value){"oldest_leaves_in", "Oldest leaves in", "seconds",
                                      empty ? 0 : entry_time(&log, log.live) - at->now_us + log.window};
    return 2;
}

const struct algorithm sliding_window_log = {
    .name = "sliding_window_log",
    .title = "Sliding window log",
    .summary =
        "Remembers when each request was let through: exact, at the price of memory for every request in the "
        "window.",
    .param_count = 2,
    .params = {LIMIT_PARAM(100000, "How many requests any window lets through."),
               WINDOW_PARAM("How far back requests count.")},
    .cost_max = COST_MAX,
    .window_us = window_us,
    .wait = wait_us,
    .fits = fits_now,
    .take = take,
    .ttl = ttl_us,
    .read = read_state,
    .describe = describe,
};
