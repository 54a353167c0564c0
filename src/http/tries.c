/* How often a client may guess: the house's own limiter, in memory, since a guess is to be limited when Redis
 * is away as well.
 *
 * Does not know tokens: bearer.c does. */
#include "http/tries.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/xmalloc.h"
#include "limit/local_limiter.h"
#include "limit/token_bucket.h"

enum { BYTES_MAX = 4 * 1024 * 1024 };

struct tries {
    struct local_limiter *table;
    struct policy policy;
};

struct tries *tries_new(void) {
    struct tries *tries = xcalloc(1, sizeof *tries);

    tries->table = local_limiter_new(TRIES_CLIENTS_MAX, BYTES_MAX);
    tries->policy = (struct policy){.name = "tries", .cost = 1, .limit_count = 1};
    limit_settings_default(&tries->policy.limits[0], &token_bucket); /* one a second */
    tries->policy.limits[0].params[0] = TRIES_BURST * MICRO;
    return tries;
}

void tries_free(struct tries *tries) {
    if (!tries) return;
    local_limiter_free(tries->table);
    free(tries);
}

static int64_t ask(struct tries *tries, const char *client, int64_t now_us, bool take) {
    const struct local_request request = {.now_us = now_us, .cost = 1, .take = take};
    struct decision decision;

    local_limiter_decide(tries->table, &tries->policy, client, strlen(client), &request, &decision);
    return decision.outcome == DECISION_DENIED ? decision.limits[0].retry_after_us : 0;
}

int64_t tries_wait(struct tries *tries, const char *client, int64_t now_us) {
    return ask(tries, client, now_us, false);
}

void tries_count(struct tries *tries, const char *client, int64_t now_us) {
    ask(tries, client, now_us, true);
}
