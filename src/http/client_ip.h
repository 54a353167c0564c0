/* The text by which a client's address is known in keys: one spelling an address, one text a client. Pure,
 * any thread.
 *
 * IPv4 is dotted. An IPv6 address that only carries an IPv4 one (mapped ::ffff:0:0/96, translated
 * 64:ff9b::/96) is that IPv4 address. Any other IPv6 address is cut to its prefix, since one customer is
 * given a whole /64 to choose from: "2001:db8:0:1::/64". The loopback address stays "::1": its prefix is
 * nobody's. No ports, no zones. */
#ifndef RL_HTTP_CLIENT_IP_H
#define RL_HTTP_CLIENT_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { CLIENT_IP_TEXT_MAX = 64 };

/* Writes the text of `peer`'s address, cut to `size` (CLIENT_IP_TEXT_MAX is always enough). A family without
 * addresses (a Unix socket) is "unknown", one client. */
void client_ip_text(const struct sockaddr *peer, char *out, size_t size);

/* Is the other end on this machine: 127.0.0.0/8, ::1, or the former mapped into IPv6. */
bool client_ip_loopback(const struct sockaddr *peer);

#endif
