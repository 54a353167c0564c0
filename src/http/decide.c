/* Hands a request to the limiter, holds its answer until its turn if the policy delays, and hands the
 * decision to whoever answers.
 *
 * Chooses neither policy nor key nor cost: api.c and check.c do. */
#include "http/decide.h"

#include <string.h>

#include "base/clock.h"
#include "base/xmalloc.h"
#include "http/counters.h"
#include "http/hold.h"
#include "http/services.h"

/* What must outlive the handler until the limiter calls back; freed with the request. */
struct waiting {
    const struct policy *policy;
    decide_done *done; /* NULL: by respond_decision */
    int64_t since_us;  /* monotonic */
    enum decision_form form;
    bool reserved;            /* a place to be held in */
    struct decision decision; /* while it is held */
    size_t key_len;
    char key[];
};

static void count(const struct request *request, const struct decision *decision) {
    const struct waiting *waiting = request->state;
    struct counters *counters = request->services->counters;

    if (waiting->form == DECISION_FORM_PEEK) return;
    counters_add(counters, FROM_CLIENTS, request->config, waiting->policy, decision);
    counters_time(counters, decision, clock_mono_us() - waiting->since_us);
    counters_sample(counters, waiting->policy, waiting->key, waiting->key_len, decision);
}

static void answer(struct request *request, const struct decision *decision) {
    const struct waiting *waiting = request->state;

    if (waiting->done)
        waiting->done(request, decision);
    else
        respond_decision(request, waiting->policy, waiting->key, waiting->key_len, decision, waiting->form);
}

/* The numbers are those of the decision; what was counted from then is counted from now. */
static void pass_time(struct decision *decision) {
    for (size_t i = 0; i < decision->count; i++) {
        int64_t left = decision->limits[i].reset_after_us - decision->delayed_us;
        decision->limits[i].reset_after_us = left > 0 ? left : 0;
    }
}

static void on_turn(void *arg, bool due) {
    struct request *request = arg;
    struct waiting *waiting = request->state;

    if (due) {
        pass_time(&waiting->decision);
        answer(request, &waiting->decision);
    } else {
        respond_problem(request, waiting->form == DECISION_FORM_GATEWAY ? 403 : 503, NULL,
                        "The server is stopping, and this request still waited for its turn. It was not let "
                        "through.");
    }
}

static void on_decision(void *arg, const struct decision *decision) {
    struct request *request = arg;
    struct waiting *waiting = request->state;
    struct hold *hold = request->services->hold;

    count(request, decision);
    if (waiting->reserved && decision->outcome == DECISION_ALLOWED && decision->delayed_us > 0) {
        waiting->decision = *decision;
        hold_until(hold, decision->delayed_us, on_turn, request);
        return;
    }
    if (waiting->reserved) hold_release(hold);
    answer(request, decision);
}

/* Without a place to wait in, what would have to wait is denied, and takes nothing. */
static enum limiter_mode mode_of(struct request *request, struct waiting *waiting) {
    if (waiting->form == DECISION_FORM_PEEK) return LIMITER_PEEK;
    if (waiting->policy->on_limit != ON_LIMIT_DELAY) return LIMITER_TAKE;
    waiting->reserved = request->held = hold_reserve(request->services->hold);
    return waiting->reserved ? LIMITER_TAKE : LIMITER_TAKE_NOW;
}

static void ask(struct request *request, const struct waiting *from, const char *key, int64_t cost) {
    struct waiting *waiting = xmalloc(sizeof *waiting + from->key_len + 1);

    waiting->policy = from->policy;
    waiting->done = from->done;
    waiting->since_us = clock_mono_us();
    waiting->form = from->form;
    waiting->reserved = false;
    waiting->key_len = from->key_len;
    memcpy(waiting->key, key, from->key_len);
    waiting->key[from->key_len] = '\0';
    request->state = waiting;
    limiter_decide(request->services->limiter, waiting->policy, waiting->key, waiting->key_len, cost,
                   mode_of(request, waiting), on_decision, request);
}

void decide_request(struct request *request, const struct policy *policy, const char *key, size_t key_len,
                    int64_t cost, enum decision_form form) {
    const struct waiting waiting = {.policy = policy, .form = form, .key_len = key_len};

    ask(request, &waiting, key, cost);
}

void decide_then(struct request *request, const struct policy *policy, const char *key, size_t key_len,
                 int64_t cost, decide_done *done) {
    const struct waiting waiting = {
        .policy = policy, .done = done, .form = DECISION_FORM_PLAIN, .key_len = key_len};

    ask(request, &waiting, key, cost);
}
