/* Network addresses as values, and blocks of them ("10.0.0.0/8"). Pure, any thread; looks no name up. */
#ifndef RL_BASE_IP_H
#define RL_BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* IPv4 is kept as IPv6 carries it, ::ffff:a.b.c.d, so that both spellings are one address. */
struct ip {
    uint8_t bytes[16];
};

struct ip_block {
    struct ip ip;
    unsigned bits; /* of the 128: 10.0.0.0/8 has 104 */
};

struct ip_blocks {
    struct ip_block *blocks; /* owned */
    size_t count;
};

enum { IP_TEXT_MAX = 46 };

/* Reads a bare numeric address: no brackets, port, zone, spaces or leading zeros in IPv4. */
bool ip_parse(const char *text, size_t len, struct ip *ip);

/* False for families without addresses (a Unix socket). A zone is left out. */
bool ip_of_socket(const struct sockaddr *address, struct ip *ip);

bool ip_is_ipv4(const struct ip *ip);
bool ip_is_loopback(const struct ip *ip); /* 127.0.0.0/8, ::1 */

/* Sets all bits behind the first `bits` to zero. */
void ip_cut(struct ip *ip, unsigned bits);

/* The canonical text: dotted, or as RFC 5952 wants it. */
void ip_text(const struct ip *ip, char out[IP_TEXT_MAX]);

/* Reads "192.0.2.0/24", "2001:db8::/32", or an address alone, which is a block of one. False if it is
 * neither, or if the address has bits behind the prefix: whoever wrote 10.1.2.3/8 may have meant another
 * block. */
bool ip_block_parse(const char *text, size_t len, struct ip_block *block);

/* IPv4 blocks hold IPv4 alone, and IPv6 blocks IPv6: ::/0 trusts no IPv4 address. */
bool ip_block_has(const struct ip_block *block, const struct ip *ip);

bool ip_blocks_have(const struct ip_blocks *blocks, const struct ip *ip);
void ip_blocks_add(struct ip_blocks *blocks, const struct ip_block *block);
void ip_blocks_free(struct ip_blocks *blocks); /* back to none */

#endif
