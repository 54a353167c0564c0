/* The text of the Redis script, assembled from lua/ when the program is built. It does not load or run it. */
#ifndef RL_LIMIT_LUA_SCRIPTS_H
#define RL_LIMIT_LUA_SCRIPTS_H

#include <stddef.h>

extern const char lua_decide_text[]; /* ends with a NUL that lua_decide_len does not count */
extern const size_t lua_decide_len;

#endif
