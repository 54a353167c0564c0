/* The leaky bucket: its line of the algorithm table, and its arithmetic, which is that of
 * lua/leaky_bucket.lua.
 *
 * Keeps no states and reads no clock. */
#include "limit/leaky_bucket.h"

#include <stdbool.h>

#include "base/decimal.h"
#include "limit/algorithm_field.h"
#include "limit/exact.h"
#include "limit/param_kinds.h"

/* Level, and level plus cost, in drops; both stay below EXACT. */
static const int64_t drops_max = EXACT / 2;
static const int64_t empty_max_us = 315360000LL * MICRO; /* ten years */

/* A unit of level so fine that whole ones leak in each microsecond. */
struct drops {
    int64_t per_micro; /* drops in a millionth of a request: q of docs/algorithms.md */
    int64_t leak;      /* drops a microsecond */
    int64_t size;      /* one drop in millionths of a millionth */
};

static struct drops drops_of(int64_t rate) {
    int64_t common = rate, rest = MICRO;
    while (rest > 0) {
        int64_t next = common % rest;
        common = rest;
        rest = next;
    }
    return (struct drops){.per_micro = MICRO / common, .leak = rate / common, .size = common};
}

static int64_t window_us(const int64_t *params) {
    struct drops drops = drops_of(params[LEAKY_BUCKET_LEAK_RATE]);
    return exact_ceil(params[LEAKY_BUCKET_CAPACITY] * drops.per_micro, drops.leak);
}

static int check(const int64_t *params, size_t *param, struct err *err) {
    int64_t capacity = params[LEAKY_BUCKET_CAPACITY], rate = params[LEAKY_BUCKET_LEAK_RATE];
    bool exact = capacity <= drops_max / drops_of(rate).per_micro;
    if (exact && window_us(params) <= empty_max_us) return 0;

    char size[DECIMAL_TEXT_MAX], got[DECIMAL_TEXT_MAX], least[DECIMAL_TEXT_MAX];
    decimal_format(capacity, size);
    decimal_format(rate, got);
    *param = LEAKY_BUCKET_LEAK_RATE;
    if (!exact)
        return err_set(
            err,
            "must have fewer decimals with a capacity of %s, so that the level can be kept exactly; "
            "got %s",
            size, got);
    decimal_format(exact_ceil(capacity, empty_max_us / MICRO), least);
    return err_set(err, "must be at least %s, so that a full bucket of %s is empty within ten years; got %s",
                   least, size, got);
}

/* Above a full bucket stands what was promised: together not more drops than can be counted. */
static int64_t delay_max_us(const int64_t *params) {
    struct drops drops = drops_of(params[LEAKY_BUCKET_LEAK_RATE]);
    return (drops_max - params[LEAKY_BUCKET_CAPACITY] * drops.per_micro) / drops.leak;
}

/* --- a decision --- */

/* The level is kept as the script writes it, "2.5": whole units, and the rest in millionths of a millionth.
 * So it does not depend on the rate, which may change. */
enum { LEVEL, LEVEL_REST, LAST_LEAK, WORDS };

struct bucket {
    struct drops drops;
    int64_t full, level, last_leak; /* drops; microseconds */
};

/* The level as stored, cut to what there may be. */
static int64_t stored_level(const struct moment *at, const struct algorithm_state *state,
                            const struct bucket *bucket) {
    int64_t leak = bucket->drops.leak, above = drops_max - bucket->full;
    int64_t highest = at->max_delay_us > above / leak ? drops_max : bucket->full + leak * at->max_delay_us;
    int64_t drops_a_unit = bucket->drops.per_micro * MICRO;
    if (state->words[LEVEL] > highest / drops_a_unit) return highest;
    int64_t rest = exact_ceil(state->words[LEVEL_REST], bucket->drops.size);
    return exact_min(state->words[LEVEL] * drops_a_unit + rest, highest);
}

static struct bucket bucket_at(const struct moment *at, const struct algorithm_state *state) {
    struct bucket bucket = {.drops = drops_of(at->params[LEAKY_BUCKET_LEAK_RATE]), .last_leak = at->now_us};
    bucket.full = at->params[LEAKY_BUCKET_CAPACITY] * bucket.drops.per_micro;
    if (state->count == 0) return bucket;

    int64_t elapsed = at->now_us - state->words[LAST_LEAK];
    if (-elapsed > window_us(at->params)) return bucket; /* further ahead than can be true */
    int64_t level = stored_level(at, state, &bucket);
    if (elapsed < 0) { /* the clock went back: nothing leaks twice */
        bucket.last_leak = state->words[LAST_LEAK];
        bucket.level = level;
    } else if (elapsed < exact_ceil(level, bucket.drops.leak)) {
        bucket.level = level - elapsed * bucket.drops.leak;
    }
    return bucket;
}

static int64_t until_leaked(const struct moment *at, const struct bucket *bucket, int64_t drops) {
    return drops <= 0 ? 0 : bucket->last_leak - at->now_us + exact_ceil(drops, bucket->drops.leak);
}

static int64_t wait_us(const struct moment *at, const struct algorithm_state *state, int64_t cost) {
    struct bucket bucket = bucket_at(at, state);
    return until_leaked(at, &bucket, bucket.level + cost * bucket.drops.per_micro - bucket.full);
}

static int64_t fits_now(const struct moment *at, const struct algorithm_state *state) {
    struct bucket bucket = bucket_at(at, state);
    return bucket.level < bucket.full ? (bucket.full - bucket.level) / bucket.drops.per_micro : 0;
}

static void take(const struct moment *at, struct algorithm_state *state, int64_t cost) {
    struct bucket bucket = bucket_at(at, state);
    int64_t level = bucket.level + cost * bucket.drops.per_micro;
    int64_t drops_a_unit = bucket.drops.per_micro * MICRO;
    const int64_t words[WORDS] = {[LEVEL] = level / drops_a_unit,
                                  [LEVEL_REST] = level % drops_a_unit * bucket.drops.size,
                                  [LAST_LEAK] = bucket.last_leak};
    algorithm_state_set(state, words, WORDS);
}

static int64_t ttl_us(const struct moment *at, const struct algorithm_state *state) {
    struct bucket bucket = bucket_at(at, state);
    return until_leaked(at, &bucket, bucket.level);
}

/* --- a state for people --- */

static bool read_state(const struct algorithm_field *fields, size_t count, struct algorithm_state *state) {
    const struct algorithm_field *level = algorithm_field_find(fields, count, "level");
    int64_t words[WORDS];

    if (!level ||
        !algorithm_field_decimal(level->value, level->value_len, 12, &words[LEVEL], &words[LEVEL_REST]) ||
        !algorithm_field_get(fields, count, "last_leak", &words[LAST_LEAK]))
        return false;
    algorithm_state_set(state, words, WORDS);
    return true;
}

static size_t describe(const struct moment *at, const struct algorithm_state *state,
                       struct algorithm_value *out) {
    struct bucket bucket = bucket_at(at, state);
    int64_t one = MICRO * bucket.drops.per_micro;

    out[0] = (struct algorithm_value){"level", "Level", "requests",
                                      exact_ceil(bucket.level, bucket.drops.per_micro)};
    out[1] = (struct algorithm_value){"room_in", "Room for one more in", "seconds",
                                      until_leaked(at, &bucket, bucket.level + one - bucket.full)};
    out[2] =
        (struct algorithm_value){"empty_in", "Empty in", "seconds", until_leaked(at, &bucket, bucket.level)};
    return 3;
}

const struct algorithm leaky_bucket = {
    .name = "leaky_bucket",
    .title = "Leaky bucket",
    .summary =
        "Each request fills a bucket that leaks at a steady rate; what would overflow it is turned away.",
    .param_count = 2,
    .params = {CAPACITY_PARAM("requests", "How much the bucket holds: the largest burst."),
               RATE_PARAM("leak_rate", "Leak rate", "requests per second",
                          "How much leaks out each second.")},
    .can_delay = true,
    .check = check,
    .told_whole = true,
    .window_us = window_us,
    .delay_max_us = delay_max_us,
    .wait = wait_us,
    .fits = fits_now,
    .take = take,
    .ttl = ttl_us,
    .read = read_state,
    .describe = describe,
};
