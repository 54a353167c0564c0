/* The decision script in a private Redis, asked with the time passed in: the ground of the tests of the
 * arithmetic. */
#ifndef RL_TESTS_BUCKET_SCRIPT_H
#define RL_TESTS_BUCKET_SCRIPT_H

#include <stdint.h>

#include "unit/private_redis.h"

struct redisReply;

#define MICRO 1000000LL
#define START 1700000000000000LL

struct bucket { /* settings, in millionths and microseconds */
    int64_t capacity, rate, interval;
};

struct said { /* what the script's reply says of one limit */
    int64_t now, admitted, due, remaining, reset_after, retry_after, wait_one;
};

extern struct private_redis script_redis;
extern struct redisContext *script_context;
extern char script_digest[64], several_digest[64];

void script_setup(void); /* fixtures */
void script_teardown(void);

void flush(void);
struct said read_said(struct redisReply *reply, size_t limit,
                      int64_t max_delay); /* frees the reply; fails on an error */

/* A decision for `cost` whole units at a given time; take and peek at key "k". */
struct said decide(const struct bucket *set, const char *key, const char *mode, int64_t cost,
                   int64_t max_delay, int64_t now);
struct said take(const struct bucket *set, int64_t cost, int64_t now);
struct said peek(const struct bucket *set, int64_t cost, int64_t now);

long long ask(const char *first, const char *second);      /* an integer reply */
void check_field(const char *field, const char *expected); /* of "k" */

/* Admitted exactly at now + retry_after; remaining grows exactly at now + reset_after. Looks only. */
void check_promises(const struct bucket *set, int64_t cost, const struct said *said);

#endif
