/* Which of the scripts decides for a policy. Knows nothing of their arguments (limiter.c). */
#ifndef RL_LIMIT_DECIDE_SCRIPT_H
#define RL_LIMIT_DECIDE_SCRIPT_H

#include <stddef.h>

#include "limit/policy.h"
#include "redis/redis_link.h"

/* Once, before threads start. Ends the program if an algorithm of the table has no script. */
void decide_scripts_init(void);

/* All of them: those that a link must be given to serve a limiter. */
const struct redis_script *const *decide_scripts(size_t *count);

/* That of the algorithm for a policy of one limit, else the one for several limits. */
const struct redis_script *decide_script_of(const struct policy *policy);

#endif
