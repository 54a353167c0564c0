/* From the reply of a script that decides (lua/decide_one.lua, lua/decide_several.lua) to a decision. Pure.
 */
#ifndef RL_LIMIT_SCRIPT_REPLY_H
#define RL_LIMIT_SCRIPT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit/algorithm.h"
#include "limit/decision.h"
#include "redis/redis_link.h"

/* `longest_us`: how long the request may be held. Fills all but cost and shadow_denied. False if this is not
 * what the script replies: then nothing of it is believed. */
bool script_reply_read(const struct redis_value *value, const struct limit_settings *limits, size_t count,
                       int64_t longest_us, struct decision *decision);

#endif
