/* The texts of the Redis scripts, assembled from lua/ when the program is built. It does not load or run
 * them. */
#ifndef RL_LIMIT_LUA_SCRIPTS_H
#define RL_LIMIT_LUA_SCRIPTS_H

#include <stddef.h>

struct lua_script {
    const char *algorithm; /* of the one limit; NULL: for several limits, of any algorithms */
    const char *text;
};

extern const struct lua_script lua_scripts[];
extern const size_t lua_script_count;

#endif
