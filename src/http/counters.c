/* Counting decisions on the worker's own thread. Reads no snapshot but the one at hand; tells nobody. */
#include "http/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xmalloc.h"

struct counters {
    struct counter_row **rows; /* sorted */
    size_t count, capacity;
    const struct config *config; /* whose policies `by_policy` follows */
    struct counter_row **by_policy;
    struct counter_totals totals;
    bool watched;
    uint64_t random;
    size_t seen; /* decisions since the sample began */
    struct sample sample[SAMPLE_MAX];
};

static const char *const names[COUNTED_KINDS] = {
    [COUNTED_ALLOWED] = "allowed", [COUNTED_DENIED] = "denied",
    [COUNTED_DELAYED] = "delayed", [COUNTED_SHADOW_DENIED] = "shadow_denied",
    [COUNTED_ERROR] = "error",
};

const char *counted_name(enum counted outcome) {
    return names[outcome];
}

enum counted counted_outcome(const struct decision *decision) {
    if (decision->outcome == DECISION_UNAVAILABLE) return COUNTED_ERROR;
    if (decision->outcome == DECISION_DENIED) return COUNTED_DENIED;
    if (decision->shadow_denied) return COUNTED_SHADOW_DENIED;
    return decision->delayed_us > 0 ? COUNTED_DELAYED : COUNTED_ALLOWED;
}

struct counters *counters_new(void) {
    struct counters *counters = xcalloc(1, sizeof *counters);

    counters->totals.times.scale = &histogram_times;
    counters->random = (uint64_t)clock_mono_us() | 1;
    return counters;
}

void counters_free(struct counters *counters) {
    if (!counters) return;
    for (size_t i = 0; i < counters->count; i++)
        free(counters->rows[i]);
    free(counters->rows);
    free(counters->by_policy);
    free(counters);
}

/* --- rows --- */

static int compare(const struct counter_row *row, const char *policy, const struct algorithm *algorithm) {
    int order = strcmp(row->policy, policy);

    return order ? order : strcmp(row->algorithm->name, algorithm->name);
}

static struct counter_row *row_insert(struct counters *counters, size_t at, const struct policy *policy) {
    struct counter_row *row = xcalloc(1, sizeof *row);

    snprintf(row->policy, sizeof row->policy, "%s", policy->name);
    row->algorithm = policy->limits[0].algorithm;
    if (counters->count == counters->capacity) {
        counters->capacity = counters->capacity ? 2 * counters->capacity : 16;
        counters->rows = xrealloc(counters->rows, counters->capacity * sizeof(struct counter_row *));
    }
    memmove(counters->rows + at + 1, counters->rows + at,
            (counters->count - at) * sizeof(struct counter_row *));
    counters->rows[at] = row;
    counters->count++;
    return row;
}

static struct counter_row *row_of(struct counters *counters, const struct policy *policy) {
    size_t low = 0, high = counters->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(counters->rows[middle], policy->name, policy->limits[0].algorithm);
        if (order == 0) return counters->rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return row_insert(counters, low, policy);
}

void counters_adopt(struct counters *counters, const struct config *config) {
    free(counters->by_policy);
    counters->config = config;
    counters->by_policy = xcalloc(config->policy_count, sizeof(struct counter_row *));
    for (size_t i = 0; i < config->policy_count; i++)
        counters->by_policy[i] = row_of(counters, &config->policies[i]);
}

void counters_add(struct counters *counters, enum count_origin origin, const struct config *config,
                  const struct policy *policy, const struct decision *decision) {
    struct counter_row *row = config == counters->config ? counters->by_policy[policy - config->policies]
                                                         : row_of(counters, policy);

    row->counts[origin][counted_outcome(decision)]++;
}

void counters_time(struct counters *counters, const struct decision *decision, int64_t us) {
    counters->totals.sources[decision->source]++;
    histogram_add(&counters->totals.times, us);
}

const struct counter_totals *counters_totals(const struct counters *counters) {
    return &counters->totals;
}

struct counter_row *const *counters_rows(const struct counters *counters, size_t *count) {
    *count = counters->count;
    return counters->rows;
}

/* --- sample --- */

void counters_watch(struct counters *counters, bool on) {
    counters->watched = on;
    counters->seen = 0;
}

static uint64_t next_random(struct counters *counters) {
    counters->random ^= counters->random << 13;
    counters->random ^= counters->random >> 7;
    counters->random ^= counters->random << 17;
    return counters->random;
}

static int64_t wait_of(const struct decision *decision) {
    if (decision->delayed_us > 0) return decision->delayed_us;
    return decision->count ? decision->limits[decision->binding].retry_after_us : 0;
}

void counters_sample(struct counters *counters, const struct policy *policy, const char *key, size_t key_len,
                     const struct decision *decision) {
    struct sample *sample;
    size_t at;

    if (!counters->watched) return;
    at = counters->seen++;
    if (at >= SAMPLE_MAX) at = next_random(counters) % counters->seen;
    if (at >= SAMPLE_MAX) return;
    sample = &counters->sample[at];
    sample->wall_us = clock_wall_us();
    memcpy(sample->policy, policy->name, sizeof sample->policy);
    if (key_len > SAMPLE_KEY_MAX) key_len = SAMPLE_KEY_MAX;
    memcpy(sample->key, key, key_len); /* snprintf would cost a request a fiftieth more */
    sample->key[key_len] = '\0';
    sample->outcome = counted_outcome(decision);
    sample->source = decision->source;
    sample->remaining = decision->count ? decision->limits[decision->binding].remaining : -1;
    sample->wait_us = wait_of(decision);
}

size_t counters_take_sample(struct counters *counters, struct sample out[SAMPLE_MAX]) {
    size_t count = counters->seen < SAMPLE_MAX ? counters->seen : SAMPLE_MAX;

    memcpy(out, counters->sample, count * sizeof *out);
    counters->seen = 0;
    return count;
}
