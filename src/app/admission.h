/* Who may have one more connection: how many there may be in all, and from one address. */
#ifndef RL_APP_ADMISSION_H
#define RL_APP_ADMISSION_H

#include <sys/socket.h>

#include "base/ip.h"

struct admission;

struct admission_settings {
    unsigned max_connections;
    unsigned max_per_ip;             /* 0: no limit */
    const struct ip_blocks *trusted; /* proxies: no limit for them; outlives the admission */
    unsigned ipv6_prefix;            /* IPv6 addresses count together by it */
};

/* Kept beyond the limits for this machine, so that an operator still gets in. */
enum { ADMISSION_RESERVE = 16 };

enum admission_result { ADMISSION_YES, ADMISSION_RESERVED, ADMISSION_FULL, ADMISSION_CROWD };

struct admission *admission_new(const struct admission_settings *settings);
void admission_free(struct admission *admission); /* NULL is fine */

/* A connection from `address` has come, while `open` are there. What is let in (YES, RESERVED) has to leave.
 */
enum admission_result admission_enter(struct admission *admission, const struct sockaddr *address,
                                      unsigned open);
/* It is gone. Any thread. */
void admission_leave(struct admission *admission, const struct sockaddr *address);

#endif
