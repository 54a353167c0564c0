/* Reading a reply, so that nobody outside redis/ meets hiredis. Makes no reply and keeps none. */
#include "redis/redis_link.h" /* before hiredis, whose macros share a name or two with it */

#include <hiredis/hiredis.h>

static const redisReply *raw(const struct redis_value *value) {
    return (const redisReply *)(const void *)value;
}

bool redis_value_int(const struct redis_value *value, int64_t *out) {
    if (!value || raw(value)->type != REDIS_REPLY_INTEGER) return false;
    *out = raw(value)->integer;
    return true;
}

const char *redis_value_str(const struct redis_value *value, size_t *len) {
    if (!value) return NULL;
    const redisReply *reply = raw(value);
    if (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS) return NULL;
    if (len) *len = reply->len;
    return reply->str;
}

bool redis_value_is_array(const struct redis_value *value) {
    return value && raw(value)->type == REDIS_REPLY_ARRAY;
}

bool redis_value_is_nil(const struct redis_value *value) {
    return value && raw(value)->type == REDIS_REPLY_NIL;
}

const char *redis_value_error(const struct redis_value *value) {
    return value && raw(value)->type == REDIS_REPLY_ERROR ? raw(value)->str : NULL;
}

size_t redis_value_count(const struct redis_value *value) {
    return redis_value_is_array(value) ? raw(value)->elements : 0;
}

const struct redis_value *redis_value_at(const struct redis_value *value, size_t index) {
    if (index >= redis_value_count(value)) return NULL;
    return (const struct redis_value *)(const void *)raw(value)->element[index];
}
