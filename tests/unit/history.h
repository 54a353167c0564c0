/* The history of one client under one or several limits: what is known of it here, what Redis must answer,
 * and the comparison. Questions are asked in a row and their answers compared later, so that a history does
 * not wait for each. */
#ifndef RL_TESTS_HISTORY_H
#define RL_TESTS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit/algorithm.h"
#include "limit/decision.h"
#include "unit/chance.h"
#include "unit/unit.h"

enum {
    STEPS = 80, /* of a history */
    KEY_BYTES = 24
};

struct client {
    struct limit_settings limits[LIMITS_MAX];
    size_t count;
    struct algorithm_state states[LIMITS_MAX];
    int64_t expires_ms[LIMITS_MAX]; /* when Redis would let the key go */
    bool broken[LIMITS_MAX];        /* the key holds nonsense */
    char kept[LIMITS_MAX][KEY_BYTES], expiring[LIMITS_MAX][KEY_BYTES];
    int64_t now_us, max_delay_us, cost_max;
    int64_t latest_us; /* the clock was there once */
    bool twin;         /* there are two keys: kept for ever, and gone as soon as Redis may let it go */
    bool calm;         /* settings stay, the clock goes forward, nobody is delayed */
    int step;
    bool at_once; /* this request may not wait */
};

/* What the script must answer. */
struct expected {
    bool skip;  /* a command's answer */
    bool whole; /* TTL and writes too */
    int step;
    struct limit_settings limits[LIMITS_MAX];
    struct decision decision;
    int64_t max_delay_us, ttl_ms[LIMITS_MAX], writes_min, writes_max;
};

extern struct client client;
extern long decisions;

/* Checks, and says what it was about. */
#define SAY(condition, ...)                                                                                  \
    do {                                                                                                     \
        if (!(condition)) history_fail(__LINE__, #condition, __VA_ARGS__);                                   \
    } while (0)

__attribute__((noreturn, format(printf, 3, 4))) void history_fail(int line, const char *what, const char *fmt,
                                                                  ...);

void history_setup(void); /* fixtures */
void history_teardown(void);

int64_t longest_wait(void); /* of the request at hand */

/* A command, whatever Redis answers: up to six words, the rest NULL. */
void history_command(const char *a, const char *b, const char *c, const char *d, const char *e,
                     const char *f);

/* Asks for a decision, and what the answer must be: to be filled in. */
struct expected *history_ask(bool kept, const char *mode, int64_t cost, int64_t now_us);

void compare_all(void);
void compare_many(void); /* if many are outstanding */

#endif
