/* The token bucket as a line of the algorithm table: parameters, bounds, words.
 *
 * Knows no state and no clock: the arithmetic of a decision is the script's. */
#include "limit/token_bucket.h"

#include "base/decimal.h"

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

const struct algorithm token_bucket = {
    .name = "token_bucket",
    .title = "Token bucket",
    .summary =
        "Tokens drip into a bucket at a steady rate and each request takes one: bursts up to the capacity, "
        "then the refill rate.",
    .param_count = 3,
    .params = {{.name = "capacity",
                .title = "Capacity",
                .unit = "tokens",
                .summary = "How many tokens the bucket holds: the largest burst.",
                .min = 1 * MICRO,
                .max = 1000000000 * MICRO,
                .fallback = 10 * MICRO,
                .whole = true},
               {.name = "refill_rate",
                .title = "Refill rate",
                .unit = "tokens per interval",
                .summary = "How many tokens each interval adds.",
                .min = 1,
                .max = 1000000000 * MICRO,
                .fallback = 1 * MICRO},
               {.name = "refill_interval",
                .title = "Refill interval",
                .unit = "seconds",
                .summary = "How long it takes until the next tokens are added.",
                .min = MICRO / 1000,
                .max = 31536000 * MICRO,
                .fallback = 1 * MICRO}},
    .can_delay = true,
    .check = check,
    .window_us = window_us,
};
