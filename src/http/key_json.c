/* What Redis holds at a key, as JSON. Asks Redis nothing. */
#include "http/key_json.h"

#include <string.h>

#include "http/respond.h"

static void write_pairs(struct json_out *json, const struct key_state *state, const struct key_pairs *pairs) {
    for (size_t i = 0; i < pairs->count; i++) {
        const struct key_pair *pair = &pairs->pairs[i];
        struct buf name = BUF_INIT(RESPOND_BODY_MAX);
        buf_add(&name, state->text.data + pair->name, pair->name_len);
        json_strn(json, buf_str(&name), state->text.data + pair->value, pair->value_len);
        buf_free(&name);
    }
}

static void write_entries(struct json_out *json, const char *name, const struct key_state *state,
                          const struct key_pairs *pairs) {
    json_array(json, name);
    for (size_t i = 0; i < pairs->count; i++) {
        const struct key_pair *pair = &pairs->pairs[i];
        json_object(json, NULL);
        json_strn(json, "member", state->text.data + pair->name, pair->name_len);
        json_strn(json, "score", state->text.data + pair->value, pair->value_len);
        json_end(json);
    }
    json_end(json);
}

void key_json_write(struct json_out *json, const struct key_state *state) {
    json_str(json, "redis_key", buf_str(&state->name));
    json_str(json, "type", state->type);
    if (state->ttl_ms < 0)
        json_null(json, "ttl");
    else
        json_seconds_ms(json, "ttl", state->ttl_ms * 1000);
    json_object(json, "fields");
    if (strcmp(state->type, "zset") == 0) {
        json_int(json, "count", state->members);
        write_entries(json, "oldest", state, &state->oldest);
        write_entries(json, "newest", state, &state->newest);
    } else {
        write_pairs(json, state, &state->fields);
    }
    json_end(json);
}
