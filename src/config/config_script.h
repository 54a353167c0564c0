/* The text of the script by which instances share the configuration, assembled from lua/config/ when the
 * program is built. It does not load or run it. */
#ifndef RL_CONFIG_CONFIG_SCRIPT_H
#define RL_CONFIG_CONFIG_SCRIPT_H

#include <stddef.h>

extern const char lua_config_text[]; /* ends with a NUL that lua_config_len does not count */
extern const size_t lua_config_len;

#endif
