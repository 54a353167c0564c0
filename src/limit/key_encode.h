/* How client text becomes part of a key: encodings in which no two texts look alike. Pure, any thread. */
#ifndef RL_LIMIT_KEY_ENCODE_H
#define RL_LIMIT_KEY_ENCODE_H

#include <stddef.h>

#include "base/buf.h"

/* Encoded bytes are "%" and two capital digits, so no encoding can hold this. */
#define KEY_HASH_MARK "%sha256:"

enum { KEY_ENCODED_MAX = 200 }; /* bytes; what would be longer is hashed */
enum { KEY_HASH_TEXT = 65 };    /* SHA-256 in lower-case hexadecimal, with its NUL */

/* Appends a value as it stands in K: percent-encoded outside [A-Za-z0-9._~-] and the characters of `keep`. */
void key_encode_value(const char *value, size_t len, const char *keep, struct buf *out);

/* Appends the injective encoding of K that stands between the braces of a Redis key: '{', '}', '%', controls
 * and non-ASCII bytes percent-encoded; when that is above 200 bytes, its first 64 bytes, "%sha256:" and the
 * hash of K. */
void key_encode(const char *key, size_t len, struct buf *out);

void key_hash(const char *text, size_t len, char out[KEY_HASH_TEXT]);

#endif
