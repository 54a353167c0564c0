/* Whole-number arithmetic that the algorithms share. The bound is the script's: a Lua number is exact up to
 * there. */
#ifndef RL_LIMIT_EXACT_H
#define RL_LIMIT_EXACT_H

#include <stdint.h>

#define EXACT INT64_C(9000000000000000)

/* A quotient of numbers that are not negative, rounded up. */
static inline int64_t exact_ceil(int64_t value, int64_t divisor) {
    return value / divisor + (value % divisor != 0);
}

static inline int64_t exact_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t exact_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
