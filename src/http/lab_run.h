/* One run that this server fires itself: through the worker's own limiter, as real traffic is, and told to
 * the client of /lab/runs as it goes. One thread.
 *
 * It ends by itself; when its reader leaves it fires no more, and is freed with the last answer. */
#ifndef RL_HTTP_LAB_RUN_H
#define RL_HTTP_LAB_RUN_H

#include "base/buf.h"
#include "http/http.h"
#include "limit/run_plan.h"

enum { RUN_ID_MAX = 64 }; /* bytes of a client's name */

/* The keys of a run's clients. Clients whose keys are the same share one. */
struct run_keys {
    size_t count;
    unsigned char of_client[RUN_CLIENTS_MAX];
    char *text[RUN_CLIENTS_MAX]; /* K, owned */
    size_t len[RUN_CLIENTS_MAX];
};
void run_keys_free(struct run_keys *keys);

struct run_start {
    const struct policy *policy; /* of the request's snapshot */
    char user[RUN_ID_MAX + 1];
    struct run_plan plan;
    struct run_keys keys;
};

/* Answers the request with the run, in whose hands plan and keys are from now on. A place (lab_run_enter) has
 * been taken. */
void lab_run_begin(struct request *request, struct run_start *start);

#endif
