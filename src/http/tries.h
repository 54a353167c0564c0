/* Wrong tokens, and how many a client may still try: a token bucket of TRIES_BURST, one more a second, for
 * each client, in this process's memory. Any thread. */
#ifndef RL_HTTP_TRIES_H
#define RL_HTTP_TRIES_H

#include <stdint.h>

enum { TRIES_BURST = 20, TRIES_CLIENTS_MAX = 10000 };

struct tries;

struct tries *tries_new(void);
void tries_free(struct tries *tries); /* NULL is fine */

/* Microseconds until the client may try a token, 0: now. `now_us` is monotonic. */
int64_t tries_wait(struct tries *tries, const char *client, int64_t now_us);

/* The client tried a wrong one. */
void tries_count(struct tries *tries, const char *client, int64_t now_us);

#endif
