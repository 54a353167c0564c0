/* A Redis that answers what a test wants: a thread on a port of 127.0.0.1. */
#ifndef RL_TESTS_STUB_REDIS_H
#define RL_TESTS_STUB_REDIS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STUB_ACCEPTS_MAX = 64 };

struct stub_redis {
    int port;
    int fd;
    pthread_t thread;
    _Atomic(const char *) login; /* reply to all of the handshake; NULL: as a good server; "": none */
    _Atomic(const char *) reply; /* bytes sent for each later command; NULL: none */
    atomic_bool hang_up;         /* close after a reply */
    atomic_int accepts;
    int64_t accepted_us[STUB_ACCEPTS_MAX]; /* read only after stub_redis_stop */
};

void stub_redis_start(struct stub_redis *stub);
void stub_redis_stop(struct stub_redis *stub);

#endif
