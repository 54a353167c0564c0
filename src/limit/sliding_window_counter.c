/* The sliding window counter: its line of the algorithm table, and its arithmetic, which is that of
 * lua/sliding_window_counter.lua.
 *
 * Keeps no states and reads no clock. */
#include "limit/sliding_window_counter.h"

#include <stdbool.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/algorithm_field.h"
#include "limit/exact.h"
#include "limit/param_kinds.h"

enum { SUB_WINDOWS_MAX = 60 };

static int64_t window_us(const int64_t *params) {
    return params[SLIDING_COUNTER_WINDOW];
}

static int check(const int64_t *params, size_t *param, struct err *err) {
    int64_t window = params[SLIDING_COUNTER_WINDOW], count = params[SLIDING_COUNTER_SUB_WINDOWS] / MICRO;
    if (window % count == 0) return 0;
    char got[DECIMAL_TEXT_MAX];
    decimal_format(window, got);
    *param = SLIDING_COUNTER_SUB_WINDOWS;
    return err_set(err, "must divide the window of %s s into whole microseconds; got %lld", got,
                   (long long)count);
}

/* --- a decision --- */

/* A state is pairs of the start of a sub-window and what was taken in it, in no order. */
enum { START, COUNT, PAIR };

/* What one look at a state sees. Counts are whole units. */
struct view {
    bool true_state; /* false: it lies further ahead than can be true, and counts for nothing */
    int64_t limit, sub_us, tick_us, ticks; /* weight moves in `ticks` steps a sub-window */
    int64_t current;                       /* start of the sub-window that is under way */
    int64_t passed;                        /* ticks of it that are over */
    int oldest;                            /* age of the sub-window that is partly outside: sub_windows */
    int64_t used[SUB_WINDOWS_MAX + 1];     /* by age: 0 is the current one */
};

static int64_t grid_start(const struct view *view, int64_t time) {
    return time - time % view->sub_us;
}

/* -1: none. */
static int64_t newest_start(const struct view *view, const struct algorithm_state *state) {
    int64_t newest = -1;
    for (size_t i = 0; i < state->count; i += PAIR)
        newest = exact_max(newest, grid_start(view, state->words[i + START]));
    return newest;
}

/* Age of a stored sub-window. Those of another length (the settings changed) count where they began. */
static int64_t age_of(const struct view *view, int64_t start) {
    return (view->current - grid_start(view, start)) / view->sub_us;
}

static struct view view_at(const struct moment *at, const struct algorithm_state *state) {
    struct view view = {.limit = at->params[SLIDING_COUNTER_LIMIT] / MICRO,
                        .oldest = (int)(at->params[SLIDING_COUNTER_SUB_WINDOWS] / MICRO)};
    view.sub_us = at->params[SLIDING_COUNTER_WINDOW] / view.oldest;
    view.tick_us = exact_ceil(view.sub_us, MICRO);
    view.ticks = exact_ceil(view.sub_us, view.tick_us);
    int64_t newest = newest_start(&view, state), base = at->now_us;
    view.true_state = newest - base <= at->params[SLIDING_COUNTER_WINDOW];
    if (view.true_state) base = exact_max(base, newest); /* the clock may have gone back */
    view.current = grid_start(&view, base);
    view.passed = (base - view.current) / view.tick_us;
    for (size_t i = 0; view.true_state && i < state->count; i += PAIR) {
        int64_t age = age_of(&view, state->words[i + START]);
        if (age <= view.oldest)
            view.used[age] = exact_min(view.used[age] + state->words[i + COUNT], view.limit);
    }
    return view;
}

static int64_t whole_count(const struct view *view) {
    int64_t sum = 0;
    for (int age = 0; age < view->oldest; age++)
        sum += view->used[age];
    return sum;
}

/* From tick `first` of a sub-window on, the first at which the weight of `old` is within `room`: ticks if
 * none. */
static int64_t first_tick(const struct view *view, int64_t first, int64_t room, int64_t old) {
    if (room < 0) return view->ticks;
    return old == 0 ? first : exact_max(first, view->ticks - room * view->ticks / old);
}

/* Walks forward, a sub-window at a time. */
static int64_t view_wait(const struct moment *at, const struct view *view, int64_t cost) {
    int64_t room = view->limit - whole_count(view) - cost;
    for (int ahead = 0; ahead <= view->oldest; ahead++) {
        int64_t first = ahead == 0 ? view->passed : 0;
        int64_t tick = first_tick(view, first, room, view->used[view->oldest - ahead]);
        if (ahead == 0 && tick == first) return 0;
        if (tick < view->ticks)
            return view->current + ahead * view->sub_us + tick * view->tick_us - at->now_us;
        if (ahead < view->oldest) room += view->used[view->oldest - 1 - ahead];
    }
    return view->current + (view->oldest + 1) * view->sub_us - at->now_us;
}

static int64_t wait_us(const struct moment *at, const struct algorithm_state *state, int64_t cost) {
    struct view view = view_at(at, state);
    return view_wait(at, &view, exact_ceil(cost, MICRO));
}

static int64_t fits_now(const struct moment *at, const struct algorithm_state *state) {
    struct view view = view_at(at, state);
    int64_t old = exact_ceil(view.used[view.oldest] * (view.ticks - view.passed), view.ticks);
    int64_t left = view.limit - whole_count(&view) - old;
    return left > 0 ? left * MICRO : 0;
}

/* Keeps what still counts, apart from the current sub-window. */
static void drop_old(const struct view *view, struct algorithm_state *state) {
    size_t kept = 0;
    for (size_t i = 0; i < state->count; i += PAIR) {
        int64_t age = age_of(view, state->words[i + START]);
        if (!view->true_state || age <= 0 || age > view->oldest) continue;
        memmove(state->words + kept, state->words + i, PAIR * sizeof *state->words);
        kept += PAIR;
    }
    state->count = kept;
}

static void take(const struct moment *at, struct algorithm_state *state, int64_t cost) {
    struct view view = view_at(at, state);
    drop_old(&view, state);
    algorithm_state_reserve(state, state->count + PAIR);
    state->words[state->count + START] = view.current;
    state->words[state->count + COUNT] = view.used[0] + exact_ceil(cost, MICRO);
    state->count += PAIR;
}

/* Until the newest count has aged out. */
static int64_t ttl_us(const struct moment *at, const struct algorithm_state *state) {
    struct view view = view_at(at, state);
    for (int age = 0; age <= view.oldest; age++) {
        if (view.used[age] > 0) return view.current + (view.oldest + 1 - age) * view.sub_us - at->now_us;
    }
    return 0;
}

/* --- a state for people --- */

static bool read_state(const struct algorithm_field *fields, size_t count, struct algorithm_state *state) {
    struct algorithm_state read = {.words = NULL};

    algorithm_state_reserve(&read, count * PAIR);
    for (size_t i = 0; i < count; i++) {
        int64_t *pair = read.words + i * PAIR;
        if (!algorithm_field_whole(fields[i].name, fields[i].name_len, &pair[START]) ||
            !algorithm_field_whole(fields[i].value, fields[i].value_len, &pair[COUNT])) {
            algorithm_state_free(&read);
            return false;
        }
        read.count += PAIR;
    }
    algorithm_state_free(state);
    *state = read;
    return true;
}

/* previous x weight + current = estimate */
static size_t describe(const struct moment *at, const struct algorithm_state *state,
                       struct algorithm_value *out) {
    struct view view = view_at(at, state);
    int64_t previous = view.used[view.oldest], current = whole_count(&view), left = view.ticks - view.passed;

    out[0] = (struct algorithm_value){"previous", "Previous count", "requests", previous * MICRO};
    out[1] = (struct algorithm_value){"weight", "Weight", "", left * MICRO / view.ticks};
    out[2] = (struct algorithm_value){"current", "Current count", "requests", current * MICRO};
    out[3] = (struct algorithm_value){"estimate", "Estimate", "requests",
                                      current * MICRO + previous * (left * MICRO / view.ticks)};
    return 4;
}

const struct algorithm sliding_window_counter = {
    .name = "sliding_window_counter",
    .title = "Sliding window counter",
    .summary =
        "Counts per sub-window and lets the oldest count fade as it leaves the window: close to exact, in "
        "little memory.",
    .param_count = 3,
    .params = {LIMIT_PARAM(1000000000, "How many requests any window lets through, as estimated."),
               WINDOW_PARAM("How far back requests count."),
               {.name = "sub_windows",
                .title = "Sub-windows",
                .unit = "parts",
                .summary = "Into how many parts the window is divided: more are more exact.",
                .min = 1 * MICRO,
                .max = SUB_WINDOWS_MAX * MICRO,
                .fallback = 1 * MICRO,
                .whole = true}},
    .check = check,
    .window_us = window_us,
    .wait = wait_us,
    .fits = fits_now,
    .take = take,
    .ttl = ttl_us,
    .read = read_state,
    .describe = describe,
};
