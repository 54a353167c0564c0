/* Looking at the clients of a run. Changes nothing in Redis. */
#include "http/lab_run_look.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/xmalloc.h"
#include "http/services.h"
#include "limit/key_read.h"

/* One look at all keys, until its last answer. */
struct looking {
    struct run_look *look;
    const struct policy *policy;
    size_t missing; /* answers, and 1 while they are being asked for */
    run_look_done *done;
    void *arg;
};

struct key_call {
    struct looking *looking;
    struct algorithm_state *states; /* of this key, by limit */
};

void run_look_free(struct run_look *look) {
    if (!look) return;
    for (size_t i = 0; i < look->count; i++)
        algorithm_state_free(&look->states[i]);
    free(look->states);
    free(look);
}

static void answered(struct looking *looking) {
    struct looking copy = *looking;

    if (--looking->missing > 0) return;
    free(looking);
    copy.done(copy.arg, copy.look);
}

static void on_decision(void *arg, const struct decision *decision) {
    struct looking *looking = arg;

    looking->look->first = *decision;
    looking->look->answered_us = clock_mono_us();
    looking->look->answered = decision->source == SOURCE_REDIS && decision->now_us > 0;
    answered(looking);
}

static void on_key(void *arg, const struct key_look *key) {
    struct key_call call = *(struct key_call *)arg;
    struct run_look *look = call.looking->look;

    free(arg);
    if (key->why) snprintf(look->why, sizeof look->why, "%s", key->why);
    for (size_t i = 0; i < call.looking->policy->limit_count; i++)
        if (key->why ||
            !key_read(&key->states[i], call.looking->policy->limits[i].algorithm, &call.states[i]))
            look->whole = false;
    answered(call.looking);
}

void run_look_begin(const struct services *services, const struct policy *policy, const struct run_keys *keys,
                    bool fresh, run_look_done *done, void *arg) {
    struct looking *looking = xcalloc(1, sizeof *looking);
    struct run_look *look = xcalloc(1, sizeof *look);
    size_t looks = fresh ? 0 : keys->count;

    look->whole = true;
    look->count = keys->count * LIMITS_MAX;
    look->states = xcalloc(look->count, sizeof *look->states);
    *looking = (struct looking){look, policy, looks + 2, done, arg};
    limiter_decide(services->limiter, policy, keys->text[0], keys->len[0], policy->cost, LIMITER_LOOK,
                   on_decision, looking);
    for (size_t i = 0; i < looks; i++) {
        struct key_call *call = xmalloc(sizeof *call);
        *call = (struct key_call){looking, &look->states[i * LIMITS_MAX]};
        key_admin_look(services->keys, policy, keys->text[i], keys->len[i], on_key, call);
    }
    answered(looking);
}
