/* What one worker has decided: decisions by policy, algorithm, origin and outcome, and a few of them as a
 * sample while somebody watches. Plain numbers of the worker's own; others ask it for a copy (a task).
 *
 * A row belongs to a policy's name and algorithm and outlives the snapshots that have it. One thread. */
#ifndef RL_HTTP_COUNTERS_H
#define RL_HTTP_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "config/config.h"
#include "limit/decision.h"

enum counted {
    COUNTED_ALLOWED,
    COUNTED_DENIED,
    COUNTED_DELAYED,
    COUNTED_SHADOW_DENIED,
    COUNTED_ERROR,
    COUNTED_KINDS
};
enum count_origin { FROM_CLIENTS, FROM_RUNS /* fired by this server itself (/lab/runs) */, COUNT_ORIGINS };

enum { SAMPLE_MAX = 20, SAMPLE_KEY_MAX = 96 };

struct sample {
    int64_t wall_us;
    char policy[POLICY_NAME_MAX + 1];
    char key[SAMPLE_KEY_MAX + 1]; /* K, cut */
    enum counted outcome;
    enum decision_source source;
    int64_t remaining; /* -1: not known */
    int64_t wait_us;   /* until it would pass, or how long it is held */
};

struct counter_row {
    char policy[POLICY_NAME_MAX + 1];
    const struct algorithm *algorithm; /* of the policy's first limit */
    uint64_t counts[COUNT_ORIGINS][COUNTED_KINDS];
    uint64_t told[COUNT_ORIGINS][COUNTED_KINDS]; /* events.c's own: what it has passed on */
};

struct counters;

/* What is not counted by policy. */
struct counter_totals {
    uint64_t sources[SOURCE_NONE + 1]; /* by enum decision_source */
    struct histogram times;            /* microseconds from asking to deciding */
};

struct counters *counters_new(void);
void counters_free(struct counters *counters);

/* Call for each new snapshot before it is used. It must live until the next is adopted. */
void counters_adopt(struct counters *counters, const struct config *config);

/* Counts one decision for `policy` of `config` (any snapshot). Peeks are nobody's decision. */
void counters_add(struct counters *counters, enum count_origin origin, const struct config *config,
                  const struct policy *policy, const struct decision *decision);

/* The same decision took so long. */
void counters_time(struct counters *counters, const struct decision *decision, int64_t us);
const struct counter_totals *counters_totals(const struct counters *counters);

/* All rows, sorted by policy and algorithm. Valid until the next adopt or add. */
struct counter_row *const *counters_rows(const struct counters *counters, size_t *count);

/* While it is on, each decision of a client may come into the sample: SAMPLE_MAX of those since it was last
 * taken, each with the same chance. */
void counters_watch(struct counters *counters, bool on);
void counters_sample(struct counters *counters, const struct policy *policy, const char *key, size_t key_len,
                     const struct decision *decision);
/* Copies the sample and begins a new one. Returns how many there are. */
size_t counters_take_sample(struct counters *counters, struct sample out[SAMPLE_MAX]);

const char *counted_name(enum counted outcome); /* "shadow_denied" */
enum counted counted_outcome(const struct decision *decision);

#endif
