/* From a handler to the limiter and back to the client: the one road of every limited request. */
#ifndef RL_HTTP_DECIDE_H
#define RL_HTTP_DECIDE_H

#include <stddef.h>
#include <stdint.h>

#include "http/http.h"
#include "http/respond.h"
#include "limit/policy.h"

/* Decides and answers, now or later. `policy` belongs to the request's snapshot; `key` is copied; `cost` is 1
 * to the policy's cost_max. A DECISION_FORM_PEEK takes nothing. Uses request->state. */
void decide_request(struct request *request, const struct policy *policy, const char *key, size_t key_len,
                    int64_t cost, enum decision_form form);

/* The same with an answer of the caller's own, who is called when it is the request's turn. */
typedef void decide_done(struct request *request, const struct decision *decision);
void decide_then(struct request *request, const struct policy *policy, const char *key, size_t key_len,
                 int64_t cost, decide_done *done);

#endif
