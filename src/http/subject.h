/* The request that is limited: the one that came, or the original one that a gateway tells of. Method and
 * target are its own; header fields and the client's address are those of the request that came. */
#ifndef RL_HTTP_SUBJECT_H
#define RL_HTTP_SUBJECT_H

#include "base/buf.h"
#include "http/http.h"
#include "limit/policy.h"

struct subject {
    const struct request *request; /* the one that came */
    enum http_method method;
    const char *method_name;
    const struct uri *uri;
};

/* The policy that covers it, NULL if none does. `*prefix`: the policy's path that matched. */
const struct policy *subject_policy(const struct subject *subject, const char **prefix);

/* Renders the policy's key template into `key`. -1 with words that name the field at fault. */
int subject_key(const struct subject *subject, const struct policy *policy, const char *prefix,
                struct buf *key, struct err *err);

#endif
