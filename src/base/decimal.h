/* Decimal text <-> whole millionths ("micro-units"), exactly, whatever the locale. */
#ifndef RL_BASE_DECIMAL_H
#define RL_BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_TEXT_MAX = 32 };
#define MICRO 1000000LL

enum decimal_status {
    DECIMAL_OK,
    DECIMAL_SYNTAX,    /* not a number in decimal notation */
    DECIMAL_PRECISION, /* more than six decimals that are not zero, or more than 15 significant digits */
    DECIMAL_RANGE      /* does not fit: |value| above 9e9 */
};

/* Reads [-]digits[.digits][e[+-]digits] (JSON's number grammar: no leading zero, no '+', no space) into
 * millionths. "1e2" is 100 exactly; "-0" is 0; "1e-7" is DECIMAL_PRECISION. `*micro` is written only on
 * DECIMAL_OK. */
enum decimal_status decimal_parse(const char *text, size_t len, int64_t *micro);

/* Writes the shortest exact decimal: 1500000 -> "1.5", 3000000 -> "3". Returns its length. */
size_t decimal_format(int64_t micro, char out[DECIMAL_TEXT_MAX]);

/* Writes a whole number as it is, NUL behind it: what "%lld" does, at a fraction of its cost. Returns its
 * length. */
size_t decimal_whole(int64_t value, char out[DECIMAL_TEXT_MAX]);

#endif
