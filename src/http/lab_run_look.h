/* What a run must know before it sets off: how Redis's clock stands, and what its clients have used already.
 * One thread. */
#ifndef RL_HTTP_LAB_RUN_LOOK_H
#define RL_HTTP_LAB_RUN_LOOK_H

#include "http/lab_run.h"
#include "limit/algorithm.h"
#include "limit/decision.h"
#include "limit/key_admin.h"

struct run_look {
    struct decision first; /* that the first client would get */
    bool answered;         /* by Redis: its clock was first.now_us just before answered_us (monotonic) */
    int64_t answered_us;
    bool whole;            /* the states below are all there is */
    char why[KEY_WHY_MAX]; /* Redis would not show: its words; else empty */
    size_t count;
    struct algorithm_state *states; /* [key][LIMITS_MAX] */
};

/* Looks, and calls done(arg, look), maybe before this returns. Policy and keys live until then; `fresh` says
 * that the keys are new and need no look. The look is then the callee's, for run_look_free. */
typedef void run_look_done(void *arg, struct run_look *look);
void run_look_begin(const struct services *services, const struct policy *policy, const struct run_keys *keys,
                    bool fresh, run_look_done *done, void *arg);
void run_look_free(struct run_look *look); /* NULL is fine */

#endif
