/* The names of keys in Redis: <prefix><policy>:<limit>:{<key>}, there and back. Pure, any thread.
 *
 * All keys of a decision share the hash tag in braces, so that Redis Cluster keeps them together. */
#ifndef RL_LIMIT_REDIS_KEY_H
#define RL_LIMIT_REDIS_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends the name of the key that holds client K under one limit. */
void redis_key_add(struct buf *out, const char *prefix, const char *policy, const char *limit,
                   const char *key, size_t key_len);

/* Appends the pattern (of SCAN ... MATCH) that all keys of a policy fit. */
void redis_key_pattern(struct buf *out, const char *prefix, const char *policy);

struct redis_key_parts {
    const char *limit; /* into the name */
    size_t limit_len;
    bool hashed; /* the client's text is not in it, only its beginning and a hash */
};

/* Takes the name of a policy's key apart and appends K (of a hashed one nothing). False if it is not of that
 * form. */
bool redis_key_read(const char *name, size_t len, const char *prefix, const char *policy,
                    struct redis_key_parts *parts, struct buf *key);

#endif
