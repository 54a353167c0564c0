/* Reading what the script has written: whole numbers and decimals in the fields of a key. Pure, any thread.
 */
#ifndef RL_LIMIT_ALGORITHM_FIELD_H
#define RL_LIMIT_ALGORITHM_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit/algorithm.h"

/* Digits, up to the largest exact number. */
bool algorithm_field_whole(const char *text, size_t len, int64_t *out);

/* A decimal of at most `decimals` places (12 or fewer) as a whole number and a rest in units of the last
 * place: "2.5" with 12 places is 2 and 500000000000. */
bool algorithm_field_decimal(const char *text, size_t len, int decimals, int64_t *whole, int64_t *rest);

/* The field of that name; NULL if there is none. */
const struct algorithm_field *algorithm_field_find(const struct algorithm_field *fields, size_t count,
                                                   const char *name);

/* The same, read. False if it is not there or no such number. */
bool algorithm_field_get(const struct algorithm_field *fields, size_t count, const char *name,
                         int64_t *whole);
bool algorithm_field_micro(const struct algorithm_field *fields, size_t count, const char *name,
                           int64_t *micro);

/* A state of two words, a quantity with decimals and a time, from the fields of these names. */
bool algorithm_field_state(const struct algorithm_field *fields, size_t count, const char *quantity,
                           const char *time, struct algorithm_state *state);

#endif
