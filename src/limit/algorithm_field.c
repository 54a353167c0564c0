/* Numbers of a key as text. Knows no algorithm. */
#include "limit/algorithm_field.h"

#include <string.h>

#include "base/decimal.h"
#include "limit/exact.h"

bool algorithm_field_whole(const char *text, size_t len, int64_t *out) {
    int64_t value = 0;

    if (len == 0 || len > 18) return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = value * 10 + (text[i] - '0');
    }
    if (value > EXACT) return false;
    *out = value;
    return true;
}

bool algorithm_field_decimal(const char *text, size_t len, int decimals, int64_t *whole, int64_t *rest) {
    const char *point = memchr(text, '.', len);
    size_t whole_len = point ? (size_t)(point - text) : len, places = point ? len - whole_len - 1 : 0;

    if (places > (size_t)decimals || (point && places == 0)) return false;
    *rest = 0;
    if (!algorithm_field_whole(text, whole_len, whole)) return false;
    if (places > 0 && !algorithm_field_whole(point + 1, places, rest)) return false;
    for (size_t i = places; i < (size_t)decimals; i++)
        *rest *= 10;
    return true;
}

const struct algorithm_field *algorithm_field_find(const struct algorithm_field *fields, size_t count,
                                                   const char *name) {
    for (size_t i = 0; i < count; i++)
        if (fields[i].name_len == strlen(name) && memcmp(fields[i].name, name, fields[i].name_len) == 0)
            return &fields[i];
    return NULL;
}

bool algorithm_field_get(const struct algorithm_field *fields, size_t count, const char *name,
                         int64_t *whole) {
    const struct algorithm_field *field = algorithm_field_find(fields, count, name);

    return field && algorithm_field_whole(field->value, field->value_len, whole);
}

bool algorithm_field_micro(const struct algorithm_field *fields, size_t count, const char *name,
                           int64_t *micro) {
    const struct algorithm_field *field = algorithm_field_find(fields, count, name);
    bool negative = field && field->value_len > 0 && field->value[0] == '-';
    int64_t whole, rest;

    if (!field ||
        !algorithm_field_decimal(field->value + negative, field->value_len - negative, 6, &whole, &rest) ||
        whole > EXACT / MICRO)
        return false;
    *micro = (negative ? -1 : 1) * (whole * MICRO + rest);
    return true;
}

bool algorithm_field_state(const struct algorithm_field *fields, size_t count, const char *quantity,
                           const char *time, struct algorithm_state *state) {
    int64_t words[2];

    if (!algorithm_field_micro(fields, count, quantity, &words[0]) ||
        !algorithm_field_get(fields, count, time, &words[1]))
        return false;
    algorithm_state_set(state, words, 2);
    return true;
}
