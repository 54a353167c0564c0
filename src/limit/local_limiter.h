/* Limits in this process's memory, for while Redis does not decide: the same algorithms, one table for all
 * workers.
 *
 * Bounded by keys and by bytes; what was used least recently goes first, and then begins like a new client.
 * Any thread: one mutex, held for one decision. */
#ifndef RL_LIMIT_LOCAL_LIMITER_H
#define RL_LIMIT_LOCAL_LIMITER_H

#include <stddef.h>
#include <stdint.h>

#include "limit/decision.h"
#include "limit/local_decision.h"
#include "limit/policy.h"

enum { LOCAL_KEYS_MAX = 100000, LOCAL_BYTES_MAX = 64 * 1024 * 1024, LOCAL_KEY_TEXT_MAX = 256 };

struct local_limiter;

/* Bounds: normally the two above. */
struct local_limiter *local_limiter_new(size_t keys_max, size_t bytes_max);
void local_limiter_free(struct local_limiter *local);

/* Of every limit this process gives away one part in `instances` (at least 1; 1 until told otherwise). */
void local_limiter_share(struct local_limiter *local, int64_t instances);

/* The time to decide by: the wall clock as it was when the outage began, and the monotonic clock since, so
 * that no step of the wall clock falls into an outage. */
int64_t local_limiter_now(struct local_limiter *local, int64_t wall_us, int64_t mono_us);

/* Redis decides again: the next outage begins with the next local_limiter_now. Cheap: for every reply. */
void local_limiter_rest(struct local_limiter *local);

/* Decides all limits of a policy together. `key`: at most LOCAL_KEY_TEXT_MAX bytes, the same for the same
 * client. */
void local_limiter_decide(struct local_limiter *local, const struct policy *policy, const char *key,
                          size_t key_len, const struct local_request *request, struct decision *decision);

/* Redis has decided: of each limit of the policy, what it said at `mono_us`. When Redis goes away, the
 * client's decisions in memory begin from there. Without locks; cheap: for every reply. `key` as above. */
void local_limiter_saw(struct local_limiter *local, const struct policy *policy, const char *key,
                       size_t key_len, const struct decision *decision, int64_t mono_us);

/* What is kept: keys (a client has one for each limit) and their bytes. */
size_t local_limiter_keys(struct local_limiter *local);
size_t local_limiter_bytes(struct local_limiter *local);

#endif
