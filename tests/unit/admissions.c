/* What a limit means, from what was admitted. Decides nothing and asks nobody. */
#include "unit/admissions.h"

#include <string.h>

#include "base/decimal.h"
#include "limit/exact.h"
#include "unit/history.h"

struct admission {
    int64_t time_us, units;
};

static struct admission admissions[STEPS];
static size_t admission_count;

void admissions_begin(void) {
    admission_count = 0;
}

void admissions_add(int64_t time_us, int64_t units) {
    ck_assert_uint_lt(admission_count, STEPS);
    admissions[admission_count++] = (struct admission){time_us, units};
}

/* The most that may pass within `time`, its ends included: millionths. */
static int64_t most_within(const struct limit_settings *limit, int64_t time) {
    const char *name = limit->algorithm->name;
    const int64_t *params = limit->params;
    int64_t size = params[0];
    if (strcmp(name, "token_bucket") == 0) {
        int64_t refills = time / params[2] + (time % params[2] != 0);
        return refills > EXACT / params[1] ? INT64_MAX : size + refills * params[1];
    }
    if (strcmp(name, "leaky_bucket") == 0) {
        if (time / MICRO >= EXACT / params[1]) return INT64_MAX;
        __int128 leaked = (__int128)time * params[1];
        return size + (int64_t)(leaked / MICRO) + (leaked % MICRO != 0);
    }
    if (time >= params[1]) return INT64_MAX;
    if (strcmp(name, "sliding_window_log") == 0) return size;
    if (strcmp(name, "fixed_window") == 0) return 2 * size - MICRO;
    return strcmp(name, "sliding_window_counter") == 0 ? 2 * size : INT64_MAX;
}

void admissions_check(const struct limit_settings *limit) {
    for (size_t first = 0; first < admission_count; first++) {
        int64_t units = 0;
        for (size_t last = first; last < admission_count; last++) {
            int64_t time = admissions[last].time_us - admissions[first].time_us;
            int64_t most = most_within(limit, time) / MICRO;
            units += admissions[last].units;
            SAY(units <= most, "%lld units within %lld us, %lld allowed", (long long)units, (long long)time,
                (long long)most);
        }
    }
}
