/* SipHash with one round a word and three at the end, as Aumasson and Bernstein describe it. Keeps no key. */
#include "base/siphash.h"

struct sip {
    uint64_t a, b, c, d;
};

static uint64_t turn(uint64_t bits, int by) {
    return bits << by | bits >> (64 - by);
}

static void mix(struct sip *v) {
    v->a += v->b;
    v->c += v->d;
    v->b = turn(v->b, 13) ^ v->a;
    v->d = turn(v->d, 16) ^ v->c;
    v->a = turn(v->a, 32);
    v->c += v->b;
    v->a += v->d;
    v->b = turn(v->b, 17) ^ v->c;
    v->d = turn(v->d, 21) ^ v->a;
    v->c = turn(v->c, 32);
}

static void absorb(struct sip *v, uint64_t word) {
    v->d ^= word;
    mix(v);
    v->a ^= word;
}

/* Little-endian, whatever the machine. */
static uint64_t read_word(const unsigned char *bytes, size_t len) {
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

uint64_t siphash(const struct siphash_key *key, const void *data, size_t len) {
    struct sip v = {key->low ^ 0x736f6d6570736575u, key->high ^ 0x646f72616e646f6du,
                    key->low ^ 0x6c7967656e657261u, key->high ^ 0x7465646279746573u};
    const unsigned char *bytes = data;
    size_t at = 0;
    for (; at + 8 <= len; at += 8)
        absorb(&v, read_word(bytes + at, 8));
    absorb(&v, (uint64_t)len << 56 | read_word(bytes + at, len - at));
    v.c ^= 0xff;
    for (int i = 0; i < 3; i++)
        mix(&v);
    return v.a ^ v.b ^ v.c ^ v.d;
}
