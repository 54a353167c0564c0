/* A policy: which requests it covers, how a client is told from another, by which limits it is held.
 *
 * Immutable; owned by the configuration snapshot that made it (config/config.h fills it). */
#ifndef RL_LIMIT_POLICY_H
#define RL_LIMIT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit/algorithm.h"
#include "limit/decision.h"
#include "limit/key_template.h"

enum { POLICY_NAME_MAX = 64 };

enum on_limit { ON_LIMIT_REJECT, ON_LIMIT_SHADOW, ON_LIMIT_DELAY };
enum on_redis_error { ON_REDIS_ERROR_LOCAL, ON_REDIS_ERROR_OPEN, ON_REDIS_ERROR_CLOSED };

struct policy {
    char name[POLICY_NAME_MAX + 1];
    char **paths; /* canonical prefixes */
    size_t path_count;
    unsigned methods; /* bits of enum http_method, as named: GET covers HEAD as well; 0: all */
    struct key_template *key;
    char *key_text; /* the template as written */
    int64_t cost;   /* whole units a request takes */
    enum on_limit on_limit;
    int64_t max_delay_us;
    enum on_redis_error on_redis_error;
    bool combined; /* a list of limits stands in place of a single algorithm */
    size_t limit_count;
    struct limit_settings limits[LIMITS_MAX];
    int64_t cost_max; /* the least of its limits' */
};

const char *on_limit_name(enum on_limit value);
const char *on_redis_error_name(enum on_redis_error value);

/* Index into the enum for "reject", "local" ...; -1 if there is none. */
int on_limit_find(const char *name);
int on_redis_error_find(const char *name);

#endif
