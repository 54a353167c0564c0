/* The fixed window: its line of the algorithm table, and its arithmetic, which is that of
 * lua/fixed_window.lua.
 *
 * Keeps no states and reads no clock. */
#include "limit/fixed_window.h"

#include "base/decimal.h"
#include "limit/algorithm_field.h"
#include "limit/exact.h"
#include "limit/param_kinds.h"

static int64_t window_us(const int64_t *params) {
    return params[FIXED_WINDOW_WINDOW];
}

/* --- a decision --- */

enum { COUNT, WINDOW_START, WORDS };

struct window {
    int64_t count, start; /* millionths; microseconds */
};

static struct window window_at(const struct moment *at, const struct algorithm_state *state) {
    const struct window fresh = {0, at->now_us};
    if (state->count == 0) return fresh;
    int64_t length = at->params[FIXED_WINDOW_WINDOW], age = at->now_us - state->words[WINDOW_START];
    if (age >= length || -age > length) return fresh; /* over, or further ahead than can be true */
    return (struct window){exact_min(state->words[COUNT], at->params[FIXED_WINDOW_LIMIT]),
                           state->words[WINDOW_START]};
}

static int64_t until_over(const struct moment *at, const struct window *window) {
    return window->start - at->now_us + at->params[FIXED_WINDOW_WINDOW];
}

static int64_t wait_us(const struct moment *at, const struct algorithm_state *state, int64_t cost) {
    struct window window = window_at(at, state);
    return window.count + cost <= at->params[FIXED_WINDOW_LIMIT] ? 0 : until_over(at, &window);
}

static int64_t fits_now(const struct moment *at, const struct algorithm_state *state) {
    return at->params[FIXED_WINDOW_LIMIT] - window_at(at, state).count;
}

static void take(const struct moment *at, struct algorithm_state *state, int64_t cost) {
    struct window window = window_at(at, state);
    algorithm_state_set(state, (int64_t[]){[COUNT] = window.count + cost, [WINDOW_START] = window.start},
                        WORDS);
}

static int64_t ttl_us(const struct moment *at, const struct algorithm_state *state) {
    struct window window = window_at(at, state);
    return window.count == 0 ? 0 : until_over(at, &window);
}

/* --- a state for people --- */

static bool read_state(const struct algorithm_field *fields, size_t count, struct algorithm_state *state) {
    return algorithm_field_state(fields, count, "count", "window_start", state);
}

static size_t describe(const struct moment *at, const struct algorithm_state *state,
                       struct algorithm_value *out) {
    struct window window = window_at(at, state);

    out[0] = (struct algorithm_value){"used", "Used", "requests", window.count};
    out[1] = (struct algorithm_value){"resets_in", "Resets in", "seconds",
                                      window.count == 0 ? 0 : until_over(at, &window)};
    if (window.count == 0) return 2; /* no window is open */
    out[2] = (struct algorithm_value){"window_start", "Window began at", "epoch seconds", window.start};
    out[3] = (struct algorithm_value){"window_end", "Window ends at", "epoch seconds",
                                      window.start + at->params[FIXED_WINDOW_WINDOW]};
    return 4;
}

const struct algorithm fixed_window = {
    .name = "fixed_window",
    .title = "Fixed window",
    .summary =
        "Counts requests in a window that opens with the first one, and starts again from 0 when it is over.",
    .param_count = 2,
    .params = {LIMIT_PARAM(1000000000, "How many requests a window lets through."),
               WINDOW_PARAM("How long a window is.")},
    .told_whole = true,
    .window_us = window_us,
    .wait = wait_us,
    .fits = fits_now,
    .take = take,
    .ttl = ttl_us,
    .read = read_state,
    .describe = describe,
};
