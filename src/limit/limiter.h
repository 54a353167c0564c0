/* From policy, key and cost to a decision: builds the script's arguments, reads its reply, and answers by the
 * policy's failure mode when Redis does not. One a worker, one thread. Knows no HTTP.
 *
 * Every call is answered exactly once, at the latest a moment after the link's time-out. */
#ifndef RL_LIMIT_LIMITER_H
#define RL_LIMIT_LIMITER_H

#include <stddef.h>
#include <stdint.h>

#include "limit/decision.h"
#include "limit/denial_cache.h"
#include "limit/local_limiter.h"
#include "limit/policy.h"
#include "redis/redis_link.h"

struct limiter;

enum limiter_mode {
    LIMITER_TAKE,
    LIMITER_TAKE_NOW, /* under a policy that delays: denies what would have to wait */
    LIMITER_PEEK,     /* takes nothing; the outcome tells about `cost`. May mend a key as a denial may */
    LIMITER_LOOK      /* as peek, and writes nothing at all */
};

typedef void limiter_done(void *arg, const struct decision *decision);

/* `link` (which has loaded decide_scripts()), `local` (the process's, shared) and `key_prefix` outlive the
 * limiter. */
struct limiter *limiter_new(struct redis_link *link, struct local_limiter *local, const char *key_prefix);
void limiter_free(struct limiter *limiter);

/* From now on denials that Redis would repeat are answered from `cache`, which the limiter frees. `news` is
 * asked for each request. */
typedef struct denial_news limiter_news(void *arg);
void limiter_use_cache(struct limiter *limiter, struct denial_cache *cache, limiter_news *news, void *arg);

/* What it remembers of denials may not be true any more: the configuration, Redis or a client's state is
 * another. NULL is fine. */
void limiter_forget_denials(struct limiter *limiter);

/* Decides. `policy` must live until `done`, which may be called before this returns.
 * `cost`: 1..policy->cost_max whole units. `key` is K (key_template.h), copied. */
void limiter_decide(struct limiter *limiter, const struct policy *policy, const char *key, size_t key_len,
                    int64_t cost, enum limiter_mode mode, limiter_done *done, void *arg);

#endif
