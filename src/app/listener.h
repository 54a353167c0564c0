/* The listening socket and its acceptor: every new connection goes to the least loaded worker. */
#ifndef RL_APP_LISTENER_H
#define RL_APP_LISTENER_H

#include "app/admission.h"
#include "app/worker.h"
#include "base/err.h"

struct ev_loop;
struct listener;

/* Binds and listens, without accepting yet. `host`: numeric IPv4 or IPv6, or "localhost". `port` 0 picks a
 * free one. NULL with words that name address and reason ("already in use"). */
struct listener *listener_open(const char *host, int port, bool tls, struct err *err);

/* "http://127.0.0.1:8080", https with TLS, with the real port; "http://0.0.0.0:8080, all addresses" where it
 * listens on all. */
const char *listener_place(const struct listener *listener);

/* Starts to accept on `loop`. A connection that `admission` does not let in is answered 503 and closed. */
void listener_start(struct listener *listener, struct ev_loop *loop, struct worker *const *workers,
                    size_t worker_count, struct admission *admission);

/* Hands over what the kernel has already accepted for us, then closes the socket: new connections are
 * refused. */
void listener_stop(struct listener *listener);
void listener_free(struct listener *listener); /* NULL is fine */

#endif
