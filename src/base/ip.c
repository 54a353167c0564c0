/* Network addresses and blocks of them: read, compared, written.
 *
 * Does not know what an address is good for: who is trusted, and what a client is, say others. */
#include "base/ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/xmalloc.h"

enum { IPV4_OFFSET = 12, IPV4_OFFSET_BITS = 96, ALL_BITS = 128 };

static const uint8_t mapped[IPV4_OFFSET] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static void set_ipv4(struct ip *ip, const void *address) {
    memcpy(ip->bytes, mapped, sizeof mapped);
    memcpy(ip->bytes + IPV4_OFFSET, address, 4);
}

bool ip_parse(const char *text, size_t len, struct ip *ip) {
    char copy[IP_TEXT_MAX];
    struct in_addr ipv4;

    if (len == 0 || len >= sizeof copy || memchr(text, '\0', len)) return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strchr(copy, ':')) return inet_pton(AF_INET6, copy, ip->bytes) == 1;
    if (inet_pton(AF_INET, copy, &ipv4) != 1) return false;
    set_ipv4(ip, &ipv4);
    return true;
}

bool ip_of_socket(const struct sockaddr *address, struct ip *ip) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in ipv4;
        memcpy(&ipv4, address, sizeof ipv4);
        set_ipv4(ip, &ipv4.sin_addr);
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 ipv6;
        memcpy(&ipv6, address, sizeof ipv6);
        memcpy(ip->bytes, &ipv6.sin6_addr, sizeof ip->bytes);
    } else {
        return false;
    }
    return true;
}

bool ip_is_ipv4(const struct ip *ip) {
    return memcmp(ip->bytes, mapped, sizeof mapped) == 0;
}

bool ip_is_loopback(const struct ip *ip) {
    static const struct ip loopback = {{[15] = 1}};

    return ip_is_ipv4(ip) ? ip->bytes[IPV4_OFFSET] == 127
                          : memcmp(ip->bytes, loopback.bytes, sizeof ip->bytes) == 0;
}

void ip_cut(struct ip *ip, unsigned bits) {
    for (unsigned i = 0; i < sizeof ip->bytes; i++) {
        unsigned left = bits > i * 8 ? bits - i * 8 : 0;
        if (left < 8) ip->bytes[i] = (uint8_t)(ip->bytes[i] & (0xff00u >> left));
    }
}

/* What inet_ntop does by sprintf, which is felt: every request's client is written. */
static void ipv4_text(const uint8_t bytes[4], char *out) {
    for (int i = 0; i < 4; i++) {
        out += decimal_whole(bytes[i], out);
        *out++ = i < 3 ? '.' : '\0';
    }
}

void ip_text(const struct ip *ip, char out[IP_TEXT_MAX]) {
    if (ip_is_ipv4(ip))
        ipv4_text(ip->bytes + IPV4_OFFSET, out);
    else
        inet_ntop(AF_INET6, ip->bytes, out, IP_TEXT_MAX);
}

/* "0" to "128", without a zero in front. */
static bool read_bits(const char *text, size_t len, unsigned max, unsigned *bits) {
    *bits = 0;
    if (len == 0 || len > 3 || (len > 1 && *text == '0')) return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *bits = *bits * 10 + (unsigned)(text[i] - '0');
    }
    return *bits <= max;
}

bool ip_block_parse(const char *text, size_t len, struct ip_block *block) {
    const char *slash = memchr(text, '/', len);
    size_t address_len = slash ? (size_t)(slash - text) : len;
    struct ip cut;

    block->bits = ALL_BITS;
    if (!ip_parse(text, address_len, &block->ip)) return false;
    if (slash) {
        /* ::ffff:10.0.0.0/104 counts its bits as IPv6 does, 10.0.0.0/8 as IPv4. */
        unsigned ahead = memchr(text, ':', address_len) ? 0 : IPV4_OFFSET_BITS;
        if (!read_bits(slash + 1, len - address_len - 1, ALL_BITS - ahead, &block->bits)) return false;
        block->bits += ahead;
    }
    cut = block->ip;
    ip_cut(&cut, block->bits);
    return memcmp(&cut, &block->ip, sizeof cut) == 0;
}

bool ip_block_has(const struct ip_block *block, const struct ip *ip) {
    struct ip cut = *ip;

    if (ip_is_ipv4(&block->ip) != ip_is_ipv4(ip)) return false;
    ip_cut(&cut, block->bits);
    return memcmp(&cut, &block->ip, sizeof cut) == 0;
}

bool ip_blocks_have(const struct ip_blocks *blocks, const struct ip *ip) {
    for (size_t i = 0; i < blocks->count; i++)
        if (ip_block_has(&blocks->blocks[i], ip)) return true;
    return false;
}

void ip_blocks_add(struct ip_blocks *blocks, const struct ip_block *block) {
    blocks->blocks = xrealloc(blocks->blocks, (blocks->count + 1) * sizeof *block);
    blocks->blocks[blocks->count++] = *block;
}

void ip_blocks_free(struct ip_blocks *blocks) {
    free(blocks->blocks);
    *blocks = (struct ip_blocks){NULL, 0};
}
