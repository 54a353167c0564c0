/* The table of algorithms and the checks that hold for all of them.
 *
 * Knows no algorithm's arithmetic: each brings its own line. */
#include "limit/algorithm.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"

/* In the order in which they are shown. A new algorithm is one line here, one C file that defines it under
 * that name, and one Lua file. */
/* clang-format off */
#define ALGORITHMS(each)         \
    each(token_bucket)           \
    each(fixed_window)           \
    each(sliding_window_log)     \
    each(sliding_window_counter) \
    each(leaky_bucket)
/* clang-format on */

#define DECLARE(name) extern const struct algorithm name;
#define ENTRY(name) &(name),

ALGORITHMS(DECLARE)

const struct algorithm *const algorithms[] = {ALGORITHMS(ENTRY)};
const size_t algorithm_count = sizeof algorithms / sizeof algorithms[0];

const struct algorithm *algorithm_find(const char *name, size_t len) {
    for (size_t i = 0; i < algorithm_count; i++) {
        if (strlen(algorithms[i]->name) == len && memcmp(algorithms[i]->name, name, len) == 0)
            return algorithms[i];
    }
    return NULL;
}

int algorithm_param(const struct algorithm *algorithm, const char *name) {
    for (size_t i = 0; i < algorithm->param_count; i++) {
        if (strcmp(algorithm->params[i].name, name) == 0) return (int)i;
    }
    return -1;
}

void limit_settings_default(struct limit_settings *limit, const struct algorithm *algorithm) {
    memset(limit, 0, sizeof *limit);
    limit->algorithm = algorithm;
    snprintf(limit->name, sizeof limit->name, "%s", algorithm->name);
    for (size_t i = 0; i < algorithm->param_count; i++)
        limit->params[i] = algorithm->params[i].fallback;
}

static bool param_fits(const struct param *param, int64_t value) {
    if (value < param->min || value > param->max) return false;
    return !param->whole || value % MICRO == 0;
}

int limit_settings_check(const struct limit_settings *limit, size_t *param, struct err *err) {
    const struct algorithm *algorithm = limit->algorithm;
    for (size_t i = 0; i < algorithm->param_count; i++) {
        if (param_fits(&algorithm->params[i], limit->params[i])) continue;
        char allowed[128], got[DECIMAL_TEXT_MAX];
        param_allowed(&algorithm->params[i], allowed, sizeof allowed);
        decimal_format(limit->params[i], got);
        *param = i;
        return err_set(err, "must be %s; got %s", allowed, got);
    }
    return algorithm->check ? algorithm->check(limit->params, param, err) : 0;
}

void param_allowed(const struct param *param, char *out, size_t size) {
    char min[DECIMAL_TEXT_MAX], max[DECIMAL_TEXT_MAX];
    decimal_format(param->min, min);
    decimal_format(param->max, max);
    if (param->whole) {
        snprintf(out, size, "a whole number from %s to %s", min, max);
    } else if (param->min == 1) { /* the smallest there is: to people, "above 0" */
        snprintf(out, size, "a number above 0 up to %s with at most six decimals", max);
    } else {
        snprintf(out, size, "a number from %s to %s with at most six decimals", min, max);
    }
}

int64_t limit_units(const struct limit_settings *limit) {
    return limit->params[0] / MICRO;
}

int64_t limit_cost_max(const struct limit_settings *limit) {
    int64_t units = limit_units(limit), most = limit->algorithm->cost_max;
    return most > 0 && most < units ? most : units;
}

int limit_settings_check_delay(const struct limit_settings *limit, int64_t max_delay_us, struct err *err) {
    const struct algorithm *algorithm = limit->algorithm;
    if (!algorithm->can_delay)
        return err_set(err, "cannot be combined with algorithm %s, which has no queue", algorithm->name);
    int64_t longest = algorithm->delay_max_us(limit->params);
    if (max_delay_us <= longest) return 0;
    char most[DECIMAL_TEXT_MAX], got[DECIMAL_TEXT_MAX];
    decimal_format(longest, most); /* microseconds are millionths of a second */
    decimal_format(max_delay_us, got);
    return err_set(err,
                   "must be at most %s s, since so high a rate promises more than can be counted; got %s",
                   most, got);
}

/* One of `instances` parts, rounded up to whole `grains`. */
static int64_t part(int64_t value, int64_t instances, int64_t grain) {
    int64_t divisor = instances * grain;
    return (value / divisor + (value % divisor != 0)) * grain;
}

struct limit_settings limit_settings_share(const struct limit_settings *limit, int64_t instances) {
    const struct algorithm *algorithm = limit->algorithm;
    struct limit_settings share = *limit;
    size_t param;
    if (instances <= 1) return share;
    int64_t units = limit_units(limit) / instances;
    share.params[0] = (units > 0 ? units : 1) * MICRO;
    for (int64_t grain = 1; grain <= MICRO; grain *= 10) {
        for (size_t i = 1; i < algorithm->param_count; i++) {
            if (algorithm->params[i].rate) share.params[i] = part(limit->params[i], instances, grain);
        }
        if (limit_settings_check(&share, &param, NULL) == 0) break;
    }
    return share;
}
