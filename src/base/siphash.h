/* SipHash-1-3: a 64-bit hash under a secret key, for tables whose keys come from strangers. Not for
 * signatures. */
#ifndef RL_BASE_SIPHASH_H
#define RL_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
    uint64_t low, high;
};

uint64_t siphash(const struct siphash_key *key, const void *data, size_t len);

#endif
