/* Does a request carry a token, as "Authorization: Bearer TOKEN"? */
#ifndef RL_HTTP_BEARER_H
#define RL_HTTP_BEARER_H

#include <stdbool.h>

#include "http/http.h"

/* Takes the same time whatever was guessed. False for an empty `wanted`, and for several Authorization
 * fields: which of them would count? */
bool bearer_matches(const struct request *request, const char *wanted);

#endif
