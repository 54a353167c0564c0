/* Ends connections that take too long over something: by total time, not by time without a byte. */
#ifndef RL_HTTP_HTTP_SLOW_H
#define RL_HTTP_HTTP_SLOW_H

#include <stdbool.h>

struct http;
struct http_connection;

/* Looks at every connection; called once a second. */
void http_slow_sweep(struct http *http);

/* microhttpd says that it has more to do: ends whose bytes it does not read. */
void http_slow_stuck(struct http *http);

/* Has something come on the connection, and nothing ever gone out? */
bool http_slow_unanswered(const struct http_connection *c);

#endif
