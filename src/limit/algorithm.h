/* The table of algorithms: names, words, parameters with units and bounds. `GET /algorithms`, --help, the
 * page, the configuration and the script's arguments are all drawn from here, so that a new algorithm is one
 * table line.
 *
 * Numbers are whole millionths (base/decimal.h) in every parameter, seconds included: 1.5 s is 1500000, which
 * is also its length in microseconds. Source of the arithmetic: docs/algorithms.md. Pure, any thread. */
#ifndef RL_LIMIT_ALGORITHM_H
#define RL_LIMIT_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "limit/algorithm_state.h"

enum { PARAMS_MAX = 3, LIMIT_NAME_MAX = 64 };

struct param {
    const char
        *name; /* member in JSON; with dashes the command-line option ("refill_rate" -> --refill-rate) */
    const char *title;   /* "Refill rate", for people */
    const char *unit;    /* "tokens", "tokens per interval", "seconds" ... */
    const char *summary; /* one line */
    int64_t min, max;    /* millionths, both allowed */
    int64_t fallback;    /* the default, millionths */
    bool whole;          /* no decimals */
    bool rate;           /* units a time: instances that share a limit each take a part of it */
};

/* One limit as configured. params[0] is always how many units fit at once (capacity or limit). */
struct limit_settings {
    const struct algorithm *algorithm;
    char name[LIMIT_NAME_MAX + 1]; /* the algorithm's name unless given */
    int64_t params[PARAMS_MAX];    /* millionths, in the table's order; unused ones 0 */
};

/* By which settings and when a state is looked at. */
struct moment {
    const int64_t *params;
    int64_t now_us;
    int64_t max_delay_us; /* what delayed requests took in advance counts up to this, and is cut beyond */
};

/* Two texts of what Redis holds: field and value of a hash, member and score of a sorted set. */
struct algorithm_field {
    const char *name, *value; /* not NUL-terminated */
    size_t name_len, value_len;
};

/* A number of a client's state, for people. */
struct algorithm_value {
    const char *name;  /* "full_in" */
    const char *title; /* "Full in" */
    const char *unit;  /* "tokens", "requests", "seconds", "" */
    int64_t value;     /* millionths, seconds included */
};
enum { ALGORITHM_VALUES_MAX = 4 };

struct algorithm {
    const char *name;    /* "token_bucket" */
    const char *title;   /* "Token bucket" */
    const char *summary; /* one line for people */
    size_t param_count;
    struct param params[PARAMS_MAX];
    int64_t cost_max; /* whole units; 0: as many as params[0] */
    bool can_delay;
    bool told_whole; /* remaining and the time until it grows tell the whole state, as of a bucket */

    /* What bounds on single parameters cannot say (ten years to fill, exact products). params are within
     * bounds. Returns 0, or -1 with words and `*param` set to the index of the member to name. */
    int (*check)(const int64_t *params, size_t *param, struct err *err);

    /* Time from empty to full, or the window: microseconds. For RateLimit-Policy's `w`. */
    int64_t (*window_us)(const int64_t *params);

    /* The longest delay for which the numbers stay exact: microseconds. NULL where can_delay is false. */
    int64_t (*delay_max_us)(const int64_t *params);

    /* The arithmetic of a decision in memory, the same as the script's to the last digit
     * (docs/algorithms.md). Costs are millionths, whole units of them, at most params[0]; a state of count 0
     * is that of a new client. */
    int64_t (*wait)(const struct moment *at, const struct algorithm_state *state,
                    int64_t cost);                                                 /* us; 0: fits now */
    int64_t (*fits)(const struct moment *at, const struct algorithm_state *state); /* millionths */
    void (*take)(const struct moment *at, struct algorithm_state *state, int64_t cost);
    int64_t (*ttl)(const struct moment *at,
                   const struct algorithm_state *state); /* us until it is as if new */

    /* Reads the state out of a key as the script has written it (sorted sets: all members, oldest first).
     * False, and the state as it was, if this is not what the script writes. */
    bool (*read)(const struct algorithm_field *fields, size_t count, struct algorithm_state *state);

    /* What there is to show of a state: up to ALGORITHM_VALUES_MAX values. Returns how many. */
    size_t (*describe)(const struct moment *at, const struct algorithm_state *state,
                       struct algorithm_value *out);
};

extern const struct algorithm *const algorithms[]; /* algorithm_count of them, token bucket first */
extern const size_t algorithm_count;

/* NULL if there is none of that name. */
const struct algorithm *algorithm_find(const char *name, size_t len);

/* Index of a parameter by its JSON name, or -1. */
int algorithm_param(const struct algorithm *algorithm, const char *name);

/* Fills params with the defaults and the name with the algorithm's. */
void limit_settings_default(struct limit_settings *limit, const struct algorithm *algorithm);

/* Checks every bound and the algorithm's own rule. Returns 0, or -1 with words ("must be a whole number from
 * 1 to 1000000000; got 0") and `*param` set. The words do not name the member: the caller knows its path. */
int limit_settings_check(const struct limit_settings *limit, size_t *param, struct err *err);

/* May requests be held up to `max_delay_us`? Returns 0, or -1 with words that do not name the member. */
int limit_settings_check_delay(const struct limit_settings *limit, int64_t max_delay_us, struct err *err);

/* The part of a limit that one of `instances` (at least 1) may give away on its own: size and rates divided.
 * It is at least one unit, and rates are rounded up where exact arithmetic asks for fewer decimals. */
struct limit_settings limit_settings_share(const struct limit_settings *limit, int64_t instances);

/* "a whole number from 1 to 1000000000", "a number above 0 up to 1000000000 with at most six decimals". */
void param_allowed(const struct param *param, char *out, size_t size);

/* Units that fit at once, whole; and the largest cost a request may have. */
int64_t limit_units(const struct limit_settings *limit);
int64_t limit_cost_max(const struct limit_settings *limit);

#endif
