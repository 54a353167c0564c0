/* The clients of the page: names that anybody may choose, and the keys they have under a policy. */
#ifndef RL_HTTP_CLIENT_ID_H
#define RL_HTTP_CLIENT_ID_H

#include "base/buf.h"
#include "base/err.h"
#include "http/http.h"
#include "limit/policy.h"

enum { CLIENT_ID_MAX = 64 };

/* Is it [A-Za-z0-9._-]{1,64}? Returns 0, or -1 with words that name `member`. */
int client_id_check(const char *id, const char *member, struct err *err);

/* The key that a request of this client (`?user=ID`, without further fields, from the address of `request`)
 * has under the policy. -1 with words that name the field at fault. */
int client_id_key(const struct request *request, const struct policy *policy, const char *id, struct buf *key,
                  struct err *err);

#endif
