/* Adding up a run. Decides nothing. */
#include "limit/run_tally.h"

#include <stdlib.h>

#include "base/xmalloc.h"
#include "limit/exact.h"

enum run_outcome run_outcome_of(const struct decision *decision) {
    if (decision->outcome == DECISION_UNAVAILABLE) return RUN_ERROR;
    if (decision->outcome == DECISION_DENIED) return RUN_DENIED;
    if (decision->shadow_denied) return RUN_SHADOW_DENIED;
    return decision->delayed_us > 0 ? RUN_DELAYED : RUN_ALLOWED;
}

char run_outcome_letter(enum run_outcome outcome) {
    return "ADLSE"[outcome];
}

int64_t run_wait_of(const struct decision *decision) {
    if (decision->outcome == DECISION_DENIED && decision->count > 0)
        return decision->limits[decision->binding].retry_after_us;
    return decision->delayed_us;
}

static void add_passed(struct run_tally *tally, int64_t at_us, unsigned key) {
    if (tally->passed_count == tally->capacity) {
        tally->capacity = tally->capacity ? 2 * tally->capacity : 64;
        tally->passed = xrealloc(tally->passed, tally->capacity * sizeof *tally->passed);
    }
    tally->passed[tally->passed_count++] = (struct run_passed){at_us, key};
}

void run_tally_add(struct run_tally *tally, const struct decision *decision, int64_t at_us, unsigned key) {
    enum run_outcome outcome = run_outcome_of(decision);

    tally->counts[outcome]++;
    tally->longest_wait_us = exact_max(tally->longest_wait_us, run_wait_of(decision));
    if (outcome != RUN_DENIED && outcome != RUN_ERROR) add_passed(tally, at_us + decision->delayed_us, key);
}

void run_tally_free(struct run_tally *tally) {
    free(tally->passed);
    *tally = (struct run_tally){.passed = NULL};
}

static int by_key_and_time(const void *a, const void *b) {
    const struct run_passed *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at_us < y->at_us ? -1 : x->at_us > y->at_us;
}

size_t run_tally_most(struct run_tally *tally, int64_t window_us) {
    size_t most = 0, first = 0;

    if (tally->passed_count == 0) return 0;
    qsort(tally->passed, tally->passed_count, sizeof *tally->passed, by_key_and_time);
    for (size_t i = 0; i < tally->passed_count; i++) {
        const struct run_passed *last = &tally->passed[i];
        while (tally->passed[first].key != last->key || last->at_us - tally->passed[first].at_us >= window_us)
            first++;
        if (i - first + 1 > most) most = i - first + 1;
    }
    return most;
}
