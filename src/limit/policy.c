/* The names of a policy's settings, as they stand in JSON and on the command line.
 *
 * Makes and frees no policies: that is the configuration's. */
#include "limit/policy.h"

#include <string.h>

#include "base/count.h"

static const char *const on_limit_names[] = {
    [ON_LIMIT_REJECT] = "reject", [ON_LIMIT_SHADOW] = "shadow", [ON_LIMIT_DELAY] = "delay"};
static const char *const on_redis_error_names[] = {
    [ON_REDIS_ERROR_LOCAL] = "local", [ON_REDIS_ERROR_OPEN] = "open", [ON_REDIS_ERROR_CLOSED] = "closed"};

static int find(const char *const *names, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return (int)i;
    }
    return -1;
}

const char *on_limit_name(enum on_limit value) {
    return on_limit_names[value];
}

const char *on_redis_error_name(enum on_redis_error value) {
    return on_redis_error_names[value];
}

int on_limit_find(const char *name) {
    return find(on_limit_names, COUNT(on_limit_names), name);
}

int on_redis_error_find(const char *name) {
    return find(on_redis_error_names, COUNT(on_redis_error_names), name);
}
