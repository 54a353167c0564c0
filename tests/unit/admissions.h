/* What was admitted in a history, and whether a limit may have let so much through. */
#ifndef RL_TESTS_ADMISSIONS_H
#define RL_TESTS_ADMISSIONS_H

#include <stdint.h>

#include "limit/algorithm.h"

void admissions_begin(void); /* of another history */
void admissions_add(int64_t time_us, int64_t units);

/* No stretch of time has more than the limit promises. */
void admissions_check(const struct limit_settings *limit);

#endif
