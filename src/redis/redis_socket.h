/* One non-blocking stream to Redis on a libev loop: bytes out, whole replies in. It knows no commands and no
 * states.
 *
 * What is to be sent collects in one buffer and leaves with one write when redis_socket_flush is called; the
 * kernel is asked to tell when there is room again only if it did not take all. So a turn of the loop costs
 * one write and no epoll_ctl. Private to redis/. */
#ifndef RL_REDIS_REDIS_SOCKET_H
#define RL_REDIS_REDIS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

struct ev_loop;
struct redis_socket;
struct redis_value;

struct redis_socket_events {
    void (*connected)(void *arg);
    void (*reply)(void *arg, const struct redis_value *value); /* valid during the call */
    void (*closed)(void *arg, const char *why); /* the connection failed or ended; once, and the last */
};

/* Begins to connect. NULL with words if that fails at once. `events` outlives the socket. */
struct redis_socket *redis_socket_open(struct ev_loop *loop, const struct sockaddr *address,
                                       socklen_t address_len, const struct redis_socket_events *events,
                                       void *arg, struct err *err);

/* Closes and frees; no event comes after it. Allowed in any of the events, and needed after `closed` too. */
void redis_socket_close(struct redis_socket *socket);

/* Queues bytes. False, and nothing queued, if too much waits already. */
bool redis_socket_send(struct redis_socket *socket, const void *data, size_t len);

/* Writes bytes at once, so that no copy of them stays here. What the kernel does not take, or comes behind
 * queued bytes, is queued all the same; false as above. For the first bytes of a connection it has room. */
bool redis_socket_send_secret(struct redis_socket *socket, const void *data, size_t len);

/* Writes what is queued. True if it called write. */
bool redis_socket_flush(struct redis_socket *socket);

/* Reads what has arrived, without waiting for the loop to say so. */
void redis_socket_poll(struct redis_socket *socket);

#endif
