/* The token bucket: its line of the algorithm table, and its arithmetic, which is that of
 * lua/token_bucket.lua.
 *
 * Keeps no states and reads no clock. */
#include "limit/token_bucket.h"

#include "base/decimal.h"
#include "limit/algorithm_field.h"
#include "limit/exact.h"
#include "limit/param_kinds.h"

/* Ten years. With need * interval below this, every product of a decision stays below 9e15 and so exact in
 * the script's doubles: steps * rate is at most capacity + rate (2e15), steps * interval at most 3.2e14. */
static const int64_t fill_max_us = 315360000LL * MICRO;

/* Refills that an empty bucket needs. */
static int64_t refills_to_full(int64_t capacity, int64_t rate) {
    return capacity / rate + (capacity % rate != 0);
}

static int check(const int64_t *params, size_t *param, struct err *err) {
    int64_t capacity = params[TOKEN_BUCKET_CAPACITY];
    int64_t rate = params[TOKEN_BUCKET_REFILL_RATE];
    int64_t refills_max = fill_max_us / params[TOKEN_BUCKET_REFILL_INTERVAL];
    if (refills_to_full(capacity, rate) <= refills_max) return 0;

    char least[DECIMAL_TEXT_MAX], got[DECIMAL_TEXT_MAX], size[DECIMAL_TEXT_MAX], interval[DECIMAL_TEXT_MAX];
    decimal_format(refills_to_full(capacity, refills_max), least);
    decimal_format(rate, got);
    decimal_format(capacity, size);
    decimal_format(params[TOKEN_BUCKET_REFILL_INTERVAL], interval);
    *param = TOKEN_BUCKET_REFILL_RATE;
    return err_set(
        err,
        "must be at least %s, so that an empty bucket of %s tokens with an interval of %s s is full within "
        "ten years; got %s",
        least, size, interval, got);
}

static int64_t window_us(const int64_t *params) {
    return refills_to_full(params[TOKEN_BUCKET_CAPACITY], params[TOKEN_BUCKET_REFILL_RATE]) *
           params[TOKEN_BUCKET_REFILL_INTERVAL];
}

/* The deepest debt is two billion tokens: what a delay and the interval under way may promise, at most. */
static const int64_t debt_max = 2000000000 * MICRO;

static int64_t delay_max_us(const int64_t *params) {
    int64_t refills = debt_max / params[TOKEN_BUCKET_REFILL_RATE]; /* at least 2 */
    int64_t interval = params[TOKEN_BUCKET_REFILL_INTERVAL];
    return refills > EXACT / interval ? EXACT : refills * interval - interval;
}

/* --- a decision --- */

enum { TOKENS, LAST_REFILL, WORDS };

struct bucket {
    int64_t tokens, last_refill; /* millionths, may be below zero; microseconds */
};

/* Below zero is what delayed requests took in advance: within the longest delay, and so within as many
 * refills as begin in it. */
static int64_t lowest(const struct moment *at) {
    int64_t rate = at->params[TOKEN_BUCKET_REFILL_RATE];
    int64_t refills = exact_ceil(at->max_delay_us, at->params[TOKEN_BUCKET_REFILL_INTERVAL]);
    return refills > debt_max / rate ? -debt_max : -refills * rate;
}

static struct bucket bucket_at(const struct moment *at, const struct algorithm_state *state) {
    int64_t capacity = at->params[TOKEN_BUCKET_CAPACITY], rate = at->params[TOKEN_BUCKET_REFILL_RATE];
    int64_t interval = at->params[TOKEN_BUCKET_REFILL_INTERVAL], now = at->now_us;
    const struct bucket full = {capacity, now};
    if (state->count == 0) return full;

    struct bucket bucket = {state->words[TOKENS], state->words[LAST_REFILL]};
    if (bucket.tokens > capacity) bucket.tokens = capacity;
    int64_t ahead = bucket.last_refill - now;
    if (bucket.tokens < -debt_max || ahead > window_us(at->params)) return full;
    if (bucket.tokens < 0)
        bucket.tokens = exact_max(bucket.tokens, lowest(at)); /* it may have become shorter */
    int64_t needed = refills_to_full(capacity - bucket.tokens, rate);
    int64_t passed = ahead < 0 ? -ahead / interval : 0; /* 0: the clock went back; no refill twice */
    if (passed >= needed || needed - passed > EXACT / interval) return full;
    bucket.tokens += passed * rate;
    bucket.last_refill += passed * interval;
    return bucket;
}

static int64_t bucket_wait(const struct moment *at, const struct bucket *bucket, int64_t cost) {
    if (cost <= bucket->tokens) return 0;
    int64_t refills = refills_to_full(cost - bucket->tokens, at->params[TOKEN_BUCKET_REFILL_RATE]);
    return bucket->last_refill + refills * at->params[TOKEN_BUCKET_REFILL_INTERVAL] - at->now_us;
}

static int64_t wait_us(const struct moment *at, const struct algorithm_state *state, int64_t cost) {
    struct bucket bucket = bucket_at(at, state);
    return bucket_wait(at, &bucket, cost);
}

static int64_t fits_now(const struct moment *at, const struct algorithm_state *state) {
    struct bucket bucket = bucket_at(at, state);
    return bucket.tokens > 0 ? bucket.tokens : 0;
}

static void take(const struct moment *at, struct algorithm_state *state, int64_t cost) {
    struct bucket bucket = bucket_at(at, state);
    algorithm_state_set(
        state, (int64_t[]){[TOKENS] = bucket.tokens - cost, [LAST_REFILL] = bucket.last_refill}, WORDS);
}

static int64_t ttl_us(const struct moment *at, const struct algorithm_state *state) {
    return wait_us(at, state, at->params[TOKEN_BUCKET_CAPACITY]);
}

/* --- a state for people --- */

static bool read_state(const struct algorithm_field *fields, size_t count, struct algorithm_state *state) {
    return algorithm_field_state(fields, count, "tokens", "last_refill", state);
}

static size_t describe(const struct moment *at, const struct algorithm_state *state,
                       struct algorithm_value *out) {
    struct bucket bucket = bucket_at(at, state);
    int64_t capacity = at->params[TOKEN_BUCKET_CAPACITY], whole = bucket.tokens / MICRO * MICRO;
    bool below = bucket.tokens < 0; /* what delayed requests took in advance */

    out[0] = (struct algorithm_value){"tokens", "Tokens", "tokens", bucket.tokens};
    out[1] = (struct algorithm_value){
        "next_token", "Next token in", "seconds",
        bucket.tokens >= capacity ? 0 : bucket_wait(at, &bucket, below ? MICRO : whole + MICRO)};
    out[2] = (struct algorithm_value){"full_in", "Full in", "seconds", bucket_wait(at, &bucket, capacity)};
    return 3;
}

const struct algorithm token_bucket = {
    .name = "token_bucket",
    .title = "Token bucket",
    .summary =
        "Tokens drip into a bucket at a steady rate and each request takes one: bursts up to the capacity, "
        "then the refill rate.",
    .param_count = 3,
    .params = {CAPACITY_PARAM("tokens", "How many tokens the bucket holds: the largest burst."),
               RATE_PARAM("refill_rate", "Refill rate", "tokens per interval",
                          "How many tokens each interval adds."),
               SECONDS_PARAM("refill_interval", "Refill interval", 1,
                             "How long it takes until the next tokens are added.")},
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
