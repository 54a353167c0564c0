/* The names of keys in Redis. The encoding of the client's text is key_encode's. */
#include "limit/redis_key.h"

#include <string.h>

#include "base/percent.h"
#include "limit/key_encode.h"

void redis_key_add(struct buf *out, const char *prefix, const char *policy, const char *limit,
                   const char *key, size_t key_len) {
    buf_adds(out, prefix);
    buf_adds(out, policy);
    buf_addc(out, ':');
    buf_adds(out, limit);
    buf_adds(out, ":{");
    key_encode(key, key_len, out);
    buf_addc(out, '}');
}

void redis_key_pattern(struct buf *out, const char *prefix, const char *policy) {
    for (const char *at = prefix; *at; at++) {
        if (strchr("*?[]^\\", *at)) buf_addc(out, '\\');
        buf_addc(out, *at);
    }
    buf_adds(out, policy);
    buf_adds(out, ":*");
}

/* Moves behind `text` if it stands at the beginning. */
static bool skip(const char **at, const char *end, const char *text) {
    size_t len = strlen(text);
    if ((size_t)(end - *at) < len || memcmp(*at, text, len) != 0) return false;
    *at += len;
    return true;
}

/* What stands in the braces, decoded. */
static bool read_tag(const char *tag, size_t len, struct redis_key_parts *parts, struct buf *key) {
    char decoded[KEY_ENCODED_MAX];
    size_t decoded_len;
    parts->hashed = memmem(tag, len, KEY_HASH_MARK, sizeof KEY_HASH_MARK - 1) != NULL;
    if (parts->hashed) return true;
    if (len > sizeof decoded || percent_decode(tag, len, PERCENT_PLUS_PLAIN, decoded, &decoded_len))
        return false;
    buf_add(key, decoded, decoded_len);
    return true;
}

bool redis_key_read(const char *name, size_t len, const char *prefix, const char *policy,
                    struct redis_key_parts *parts, struct buf *key) {
    const char *at = name, *end = name + len;
    if (!skip(&at, end, prefix) || !skip(&at, end, policy) || !skip(&at, end, ":")) return false;
    const char *colon = memchr(at, ':', (size_t)(end - at));
    if (!colon) return false;
    parts->limit = at;
    parts->limit_len = (size_t)(colon - at);
    at = colon;
    if (!skip(&at, end, ":{") || at == end || end[-1] != '}') return false;
    return read_tag(at, (size_t)(end - 1 - at), parts, key);
}
