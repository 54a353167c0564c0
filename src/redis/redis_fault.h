/* What Redis's error replies mean: the table by which a link decides to stay or to begin anew, and the words
 * for the log. Sends and logs nothing. */
#ifndef RL_REDIS_REDIS_FAULT_H
#define RL_REDIS_REDIS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

struct redis_fault {
    const char *code;    /* how the error begins; or, after "ERR", what it contains */
    bool away;           /* no command of ours will do better on this connection: look for Redis anew */
    const char *meaning; /* for the log; NULL: Redis's own words say it */
};

enum { REDIS_FAULT_WORDS = 320 };

/* Always one. The words of commands inside a script count, in the way of Redis 7 and in that of those before.
 */
const struct redis_fault *redis_fault_of(const char *error);

/* The error for a log, cut to `size`: Redis's words, and what they mean. */
void redis_fault_describe(const char *error, char *out, size_t size);

#endif
