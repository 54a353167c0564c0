/* Decimal text <-> whole millionths, by integers alone, so that neither locale nor binary fractions touch a
 * number. Knows no bounds but those that keep it exact. */
#include "base/decimal.h"

#include <stdbool.h>
#include <string.h>

enum { DECIMALS = 6, DIGITS_MAX = 15, WHOLE_DIGITS_MAX = 10 };
#define MICRO_MAX (9000000000LL * MICRO)
#define EXPONENT_MAX 1000000000000LL

/* A number as it is read: value = mantissa * 10^exponent. Zeros at either end do not count as digits. */
struct reading {
    const char *at, *end;
    uint64_t mantissa; /* meaningful up to DIGITS_MAX digits */
    int64_t digits;
    int64_t zeros; /* seen behind the last digit that is not zero */
    int64_t exponent;
};

static bool at_digit(const struct reading *r) {
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static void take_digit(struct reading *r) {
    unsigned digit = (unsigned)(*r->at++ - '0');
    if (digit == 0) {
        if (r->digits > 0) r->zeros++;
        return;
    }
    for (; r->zeros > 0; r->zeros--) {
        if (r->digits++ < DIGITS_MAX) r->mantissa *= 10;
    }
    if (r->digits++ < DIGITS_MAX) r->mantissa = r->mantissa * 10 + digit;
}

static bool read_whole(struct reading *r) {
    if (!at_digit(r)) return false;
    bool leading_zero = *r->at == '0';
    take_digit(r);
    if (leading_zero) return !at_digit(r);
    while (at_digit(r))
        take_digit(r);
    return true;
}

static bool read_fraction(struct reading *r) {
    if (r->at == r->end || *r->at != '.') return true;
    r->at++;
    if (!at_digit(r)) return false;
    while (at_digit(r)) {
        take_digit(r);
        r->exponent--;
    }
    return true;
}

static bool read_exponent(struct reading *r) {
    if (r->at == r->end || (*r->at != 'e' && *r->at != 'E')) return true;
    r->at++;
    bool negative = r->at < r->end && *r->at == '-';
    if (r->at < r->end && (*r->at == '-' || *r->at == '+')) r->at++;
    if (!at_digit(r)) return false;
    int64_t exponent = 0;
    for (; at_digit(r); r->at++) {
        if (exponent < EXPONENT_MAX) exponent = exponent * 10 + (*r->at - '0');
    }
    r->exponent += negative ? -exponent : exponent;
    return true;
}

static enum decimal_status scale(const struct reading *r, int64_t *micro) {
    if (r->digits == 0) {
        *micro = 0;
        return DECIMAL_OK;
    }
    int64_t exponent = r->exponent + r->zeros;
    if (r->digits + exponent > WHOLE_DIGITS_MAX) return DECIMAL_RANGE;
    if (exponent < -DECIMALS || r->digits > DIGITS_MAX) return DECIMAL_PRECISION;
    /* At most 16 digits in all: below 10^16, so no product here overflows. */
    int64_t value = (int64_t)r->mantissa;
    for (int64_t i = -DECIMALS; i < exponent; i++)
        value *= 10;
    if (value > MICRO_MAX) return DECIMAL_RANGE;
    *micro = value;
    return DECIMAL_OK;
}

enum decimal_status decimal_parse(const char *text, size_t len, int64_t *micro) {
    struct reading r = {.at = text, .end = text + len};
    bool negative = len > 0 && *text == '-';
    if (negative) r.at++;
    if (!read_whole(&r) || !read_fraction(&r) || !read_exponent(&r) || r.at != r.end) return DECIMAL_SYNTAX;
    int64_t value;
    enum decimal_status status = scale(&r, &value);
    if (status == DECIMAL_OK) *micro = negative ? -value : value;
    return status;
}

size_t decimal_whole(int64_t value, char out[DECIMAL_TEXT_MAX]) {
    char text[DECIMAL_TEXT_MAX];
    char *end = text + sizeof text, *at = end;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    *--at = '\0';
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) *--at = '-';
    memcpy(out, at, (size_t)(end - at));
    return (size_t)(end - at) - 1;
}

size_t decimal_format(int64_t micro, char out[DECIMAL_TEXT_MAX]) {
    char reversed[DECIMAL_TEXT_MAX];
    size_t count = 0;
    uint64_t rest = micro < 0 ? 0 - (uint64_t)micro : (uint64_t)micro;
    bool point = false;
    for (int i = 0; i < DECIMALS; i++, rest /= 10) {
        unsigned digit = (unsigned)(rest % 10);
        if (digit == 0 && !point) continue; /* zeros at the end are not written */
        point = true;
        reversed[count++] = (char)('0' + digit);
    }
    if (point) reversed[count++] = '.';
    do {
        reversed[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (micro < 0) reversed[count++] = '-';
    for (size_t i = 0; i < count; i++)
        out[i] = reversed[count - 1 - i];
    out[count] = '\0';
    return count;
}
