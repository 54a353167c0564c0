/* Listens on one channel of Redis, over a connection of its own that comes back by itself. Messages may get
 * lost while it is away: whoever needs to know everything polls as well.
 *
 * One thread: the loop's. */
#ifndef RL_REDIS_REDIS_SUBSCRIBER_H
#define RL_REDIS_REDIS_SUBSCRIBER_H

#include "redis/redis_link.h"

struct redis_subscriber;

/* Somebody published; or the subscription begins, so that something may have been missed before. */
typedef void redis_heard(void *arg);

/* Never fails: an absent Redis is a state. `channel` is copied, `settings` outlive it. `news`: what is told
 * on the channel, in words for the log, a static text. */
struct redis_subscriber *redis_subscriber_new(struct ev_loop *loop, const struct redis_settings *settings,
                                              const char *channel, const char *news, redis_heard *heard,
                                              void *arg);
void redis_subscriber_free(struct redis_subscriber *subscriber); /* NULL is fine. Not from within `heard` */

#endif
