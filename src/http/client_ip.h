/* Who the client of a request is, and the text by which it is known in keys: one spelling an address, one
 * text a client.
 *
 * The client is the other end of the connection, unless that is a trusted proxy: then whoever its
 * X-Forwarded-For tells of, or without one its Forwarded (forwarded.h). No other field is ever believed. */
#ifndef RL_HTTP_CLIENT_IP_H
#define RL_HTTP_CLIENT_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/ip.h"

enum { CLIENT_IP_TEXT_MAX = 64, CLIENT_IP_PREFIX = 64, CLIENT_IP_PREFIX_MAX = 128 };

struct request;

struct client_ip_settings {
    struct ip_blocks trusted; /* proxies */
    unsigned ipv6_prefix;     /* 1..128 bits by which IPv6 clients are told apart */
};

/* IPv4 is dotted. An IPv6 address that only carries an IPv4 one (mapped ::ffff:0:0/96, translated
 * 64:ff9b::/96) is that IPv4 address. Any other IPv6 address is cut to its prefix, since one customer is
 * given a whole /64 to choose from: "2001:db8:0:1::/64"; with 128 it is told whole. The loopback address
 * stays "::1": its prefix is nobody's. */
void client_ip_text(const struct ip *ip, unsigned ipv6_prefix, char out[CLIENT_IP_TEXT_MAX]);

/* Is the other end on this machine. */
bool client_ip_loopback(const struct sockaddr *peer);

/* Is the other end a trusted proxy. */
bool client_ip_trusted(const struct sockaddr *peer, const struct client_ip_settings *settings);

/* The text of the request's client. A peer without an address (a Unix socket) is "unknown", one client. */
void client_ip_find(const struct request *request, const struct client_ip_settings *settings,
                    char out[CLIENT_IP_TEXT_MAX]);

#endif
