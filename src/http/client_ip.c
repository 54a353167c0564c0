/* The client's address as one canonical text for keys.
 *
 * Does not look at what a request says about its client: only the peer of the socket is known here. */
#include "http/client_ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { IPV6_PREFIX = 64 };

static const uint8_t carries_ipv4[][12] = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff},   /* ::ffff:0:0/96, IPv4-mapped */
    {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0} /* 64:ff9b::/96, RFC 6052 */
};

/* The address's four bytes if it is an IPv4 one in an IPv6 coat, else NULL. */
static const uint8_t *inner_ipv4(const uint8_t address[16]) {
    for (size_t i = 0; i < sizeof carries_ipv4 / sizeof *carries_ipv4; i++)
        if (memcmp(address, carries_ipv4[i], sizeof carries_ipv4[i]) == 0) return address + 12;
    return NULL;
}

static void keep_bits(uint8_t address[16], unsigned bits) {
    for (unsigned i = 0; i < 16; i++) {
        unsigned left = bits > i * 8 ? bits - i * 8 : 0;
        if (left < 8) address[i] = (uint8_t)(address[i] & (0xff00u >> left));
    }
}

static void ipv6_text(const struct in6_addr *address, char text[CLIENT_IP_TEXT_MAX]) {
    uint8_t bytes[16];
    memcpy(bytes, address->s6_addr, sizeof bytes);
    const uint8_t *ipv4 = inner_ipv4(bytes);
    if (ipv4) {
        inet_ntop(AF_INET, ipv4, text, CLIENT_IP_TEXT_MAX);
        return;
    }
    bool whole = IN6_IS_ADDR_LOOPBACK(address);
    if (!whole) keep_bits(bytes, IPV6_PREFIX);
    inet_ntop(AF_INET6, bytes, text, CLIENT_IP_TEXT_MAX);
    size_t len = strlen(text);
    if (!whole) snprintf(text + len, CLIENT_IP_TEXT_MAX - len, "/%d", IPV6_PREFIX);
}

void client_ip_text(const struct sockaddr *peer, char *out, size_t size) {
    char text[CLIENT_IP_TEXT_MAX] = "unknown";

    if (peer->sa_family == AF_INET) {
        struct sockaddr_in ipv4;
        memcpy(&ipv4, peer, sizeof ipv4);
        inet_ntop(AF_INET, &ipv4.sin_addr, text, sizeof text);
    } else if (peer->sa_family == AF_INET6) {
        struct sockaddr_in6 ipv6;
        memcpy(&ipv6, peer, sizeof ipv6);
        ipv6_text(&ipv6.sin6_addr, text);
    }
    snprintf(out, size, "%s", text);
}

bool client_ip_loopback(const struct sockaddr *peer) {
    if (peer->sa_family == AF_INET) {
        struct sockaddr_in ipv4;
        memcpy(&ipv4, peer, sizeof ipv4);
        return (ntohl(ipv4.sin_addr.s_addr) >> 24) == 127;
    }
    if (peer->sa_family != AF_INET6) return false;
    struct sockaddr_in6 ipv6;
    memcpy(&ipv6, peer, sizeof ipv6);
    return IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr) && ipv6.sin6_addr.s6_addr[12] == 127);
}
