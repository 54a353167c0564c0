/* What Redis holds of a client under one limit, as members of a JSON object. */
#ifndef RL_HTTP_KEY_JSON_H
#define RL_HTTP_KEY_JSON_H

#include "base/json_out.h"
#include "limit/key_admin.h"

/* Writes "redis_key", "type", "ttl" and "fields" into the object that is open. */
void key_json_write(struct json_out *json, const struct key_state *state);

#endif
