/* From what Redis holds of a client to the state the arithmetic in memory works on. Pure, any thread. */
#ifndef RL_LIMIT_KEY_READ_H
#define RL_LIMIT_KEY_READ_H

#include <stdbool.h>

#include "limit/algorithm.h"
#include "limit/key_admin.h"

/* Fills `state` (zeroed, or a state of its own). No key is a new client. False if the key holds something
 * else, or more than was looked at. */
bool key_read(const struct key_state *key, const struct algorithm *algorithm, struct algorithm_state *state);

#endif
