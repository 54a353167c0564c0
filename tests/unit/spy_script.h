/* The decision script as a test sees it: in a private Redis, with the time passed in, and with what it writes
 * told in the reply. A TTL is told and not set, so that keys live as long as the test wants.
 *
 * Requests are sent in a row and answered in a row. */
#ifndef RL_TESTS_SPY_SCRIPT_H
#define RL_TESTS_SPY_SCRIPT_H

#include <stdint.h>

#include "limit/algorithm.h"
#include "limit/decision.h"

struct spy_request {
    const struct limit_settings *limits;
    size_t count;
    const char *keys[LIMITS_MAX];
    int64_t pttl_ms[LIMITS_MAX]; /* what Redis is to say of the keys' TTL, if asked */
    const char *mode;
    int64_t cost, max_delay_us, now_us;
};

struct spy_said {
    struct decision decision;
    int64_t ttl_ms[LIMITS_MAX]; /* -1: not set */
    int64_t writes;             /* commands that write, PEXPIRE apart */
};

void spy_setup(void);
void spy_teardown(void);
void spy_ask(const struct spy_request *request);
void spy_command(const char *const *words, int count); /* of Redis, whatever it answers */

/* The next answer, to a request that could be held for `longest_us`; those of commands come too, and say
 * nothing. */
void spy_answer(const struct limit_settings *limits, size_t count, int64_t longest_us, struct spy_said *said);
void spy_skip(void);

/* A command's answer now: an integer, or -1 for anything else. Nothing may be outstanding. */
int64_t spy_number(const char *const *words, int count);

#endif
