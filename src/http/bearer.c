/* Tokens in Authorization, compared without telling anything by the time it takes.
 *
 * Does not know what a token opens: guard.c and check.c do. */
#include "http/bearer.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http/fields.h"
#include "http/services.h"
#include "http/tries.h"

enum { SHA256_BYTES = 32, STACK_USED = 4096, MICROSECONDS = 1000000 };

/* Hashing leaves its last block on the stack, which core dumps show. */
__attribute__((noinline)) static void wipe_stack(void) {
    char below[STACK_USED];

    explicit_bzero(below, sizeof below);
}

/* Digests of equal length, so that neither the time nor the length of a guess tells anything. */
static bool token_matches(const char *given, const char *wanted) {
    unsigned char digests[2][SHA256_BYTES];
    bool hashed;

    if (!*wanted || !*given) return false;
    hashed = gnutls_hash_fast(GNUTLS_DIG_SHA256, given, strlen(given), digests[0]) >= 0 &&
             gnutls_hash_fast(GNUTLS_DIG_SHA256, wanted, strlen(wanted), digests[1]) >= 0;
    wipe_stack();
    return hashed && gnutls_memcmp(digests[0], digests[1], SHA256_BYTES) == 0;
}

/* The token that was given, NULL if there is none that could be right. */
static const char *token_given(const struct request *request) {
    const char *authorization = request_header(request, "Authorization");

    if (!authorization || request_header_count(request, "Authorization") != 1) return NULL;
    const char *given = field_bearer(authorization);
    return given && *given ? given : NULL;
}

enum bearer bearer_check(struct request *request, const char *wanted) {
    struct tries *tries = request->services->tries;
    const char *given = token_given(request);
    int64_t now_us = clock_mono_us();
    char seconds[24];

    if (!given) return BEARER_WRONG;
    int64_t wait_us = tries_wait(tries, request->client_ip, now_us);
    if (wait_us > 0) {
        snprintf(seconds, sizeof seconds, "%" PRId64, (wait_us + MICROSECONDS - 1) / MICROSECONDS);
        request_reply_header(request, "Retry-After", seconds);
        return BEARER_LATER;
    }
    request->token_seen = true;
    if (token_matches(given, wanted)) return BEARER_RIGHT;
    tries_count(tries, request->client_ip, now_us);
    return BEARER_WRONG;
}
