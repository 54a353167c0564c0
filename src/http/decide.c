/* Hands a request to the limiter and its decision to respond_decision.
 *
 * Chooses neither policy nor key nor cost: api.c and check.c do. */
#include "http/decide.h"

#include <string.h>

#include "base/xmalloc.h"
#include "http/services.h"

/* What must outlive the handler until the limiter calls back; freed with the request. */
struct waiting {
    const struct policy *policy;
    enum decision_form form;
    size_t key_len;
    char key[];
};

static void on_decision(void *arg, const struct decision *decision) {
    struct request *request = arg;
    const struct waiting *waiting = request->state;

    respond_decision(request, waiting->policy, waiting->key, waiting->key_len, decision, waiting->form);
}

void decide(struct request *request, const struct policy *policy, const char *key, size_t key_len,
            int64_t cost, enum decision_form form) {
    struct waiting *waiting = xmalloc(sizeof *waiting + key_len + 1);

    waiting->policy = policy;
    waiting->form = form;
    waiting->key_len = key_len;
    memcpy(waiting->key, key, key_len);
    waiting->key[key_len] = '\0';
    request->state = waiting;
    limiter_decide(request->services->limiter, policy, waiting->key, key_len, cost,
                   form == DECISION_FORM_PEEK ? LIMITER_PEEK : LIMITER_TAKE, on_decision, request);
}
