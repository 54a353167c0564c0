/* Who the client is, by what trusted proxies wrote into X-Forwarded-For or Forwarded (RFC 7239). Pure, any
 * thread.
 *
 * Each proxy adds the address it was called from at the end, so the list is read from its end: an address
 * that is itself a trusted proxy's leads one further to the left, the first that is not is the client. What
 * stands left of it the client may have written itself; it is never looked at, whatever is in it.
 *
 * What is no address (a word, "unknown", "_hidden", a malformed entry or one of Forwarded without "for") ends
 * the walk: then the client is the last address read, or the peer. */
#ifndef RL_HTTP_FORWARDED_H
#define RL_HTTP_FORWARDED_H

#include <stddef.h>

#include "base/ip.h"

enum forwarded_form { FORWARDED_LIST /* X-Forwarded-For */, FORWARDED_PAIRS /* Forwarded */ };

enum { FORWARDED_ENTRIES_MAX = 32 }; /* from the right; longer chains of proxies are not followed */

/* `text`: the field's value; of several lines, their values joined by commas in their order. `peer`: the
 * other end of the connection, a trusted one. */
struct ip forwarded_client(enum forwarded_form form, const char *text, size_t len, const struct ip *peer,
                           const struct ip_blocks *trusted);

/* Reads one node: "192.0.2.7", "192.0.2.7:4711", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711", IPv6
 * with a zone ("fe80::1%eth0"). Port and zone are checked and dropped. */
bool forwarded_node(const char *text, size_t len, struct ip *ip);

#endif
