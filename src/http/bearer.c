/* Tokens in Authorization, compared without telling anything by the time it takes.
 *
 * Does not know what a token opens: guard.c and check.c do. */
#include "http/bearer.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

#include "http/fields.h"

enum { SHA256_BYTES = 32 };

/* Digests of equal length, so that neither the time nor the length of a guess tells anything. */
static bool token_matches(const char *given, const char *wanted) {
    unsigned char digests[2][SHA256_BYTES];

    if (!*wanted || !*given) return false;
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, given, strlen(given), digests[0]) < 0) return false;
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, wanted, strlen(wanted), digests[1]) < 0) return false;
    return gnutls_memcmp(digests[0], digests[1], SHA256_BYTES) == 0;
}

bool bearer_matches(const struct request *request, const char *wanted) {
    const char *authorization = request_header(request, "Authorization");

    if (!authorization || request_header_count(request, "Authorization") != 1) return false;
    const char *given = field_bearer(authorization);
    return given && token_matches(given, wanted);
}
