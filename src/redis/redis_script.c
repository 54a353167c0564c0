/* The digest by which Redis knows a script. Loads nothing. */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/redis_link.h"

void redis_script_init(struct redis_script *script) {
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[20];
    if (script->len == 0) script->len = strlen(script->text);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA1, script->text, script->len, digest) != 0) {
        fprintf(stderr, "gnutls has no SHA-1, by which Redis names scripts\n");
        exit(1);
    }
    for (size_t i = 0; i < sizeof digest; i++) {
        script->sha1[2 * i] = digits[digest[i] >> 4];
        script->sha1[2 * i + 1] = digits[digest[i] & 15];
    }
    script->sha1[40] = '\0';
}
