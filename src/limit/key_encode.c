/* How client text becomes part of a key: percent-encoding, and SHA-256 where text is too long or secret.
 *
 * Knows no templates and no Redis. */
#include "limit/key_encode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "base/log.h"

enum { ENCODED_KEPT = 64, HASH_BYTES = 32 };

static bool is_unreserved(unsigned char byte) {
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9'))
        return true;
    return byte == '.' || byte == '_' || byte == '~' || byte == '-';
}

static bool is_plain_in_redis(unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '{' && byte != '}' && byte != '%';
}

static void percent(unsigned char byte, char out[3]) {
    static const char digits[] = "0123456789ABCDEF";
    out[0] = '%';
    out[1] = digits[byte >> 4];
    out[2] = digits[byte & 15];
}

void key_encode_value(const char *value, size_t len, const char *keep, struct buf *out) {
    size_t start = 0; /* of the run that needs no encoding */
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)value[i];
        if (is_unreserved(byte) || (byte && strchr(keep, byte))) continue;
        char encoded[3];
        percent(byte, encoded);
        buf_add(out, value + start, i - start);
        buf_add(out, encoded, sizeof encoded);
        start = i + 1;
    }
    buf_add(out, value + start, len - start);
}

void key_encode(const char *key, size_t len, struct buf *out) {
    char encoded[KEY_ENCODED_MAX + 3];
    size_t used = 0;
    for (size_t i = 0; i < len && used <= KEY_ENCODED_MAX; i++) {
        unsigned char byte = (unsigned char)key[i];
        if (is_plain_in_redis(byte)) {
            encoded[used++] = (char)byte;
        } else {
            percent(byte, encoded + used);
            used += 3;
        }
    }
    if (used <= KEY_ENCODED_MAX) {
        buf_add(out, encoded, used);
        return;
    }
    char hash[KEY_HASH_TEXT];
    key_hash(key, len, hash);
    buf_add(out, encoded, ENCODED_KEPT);
    buf_adds(out, KEY_HASH_MARK);
    buf_adds(out, hash);
}

void key_hash(const char *text, size_t len, char out[KEY_HASH_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[HASH_BYTES];
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text, len, hash) != 0) {
        log_error("SHA-256 is not available: keys cannot be told apart");
        abort();
    }
    for (size_t i = 0; i < HASH_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[2 * HASH_BYTES] = '\0';
}
