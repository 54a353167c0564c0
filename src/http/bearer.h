/* Does a request carry a token, as "Authorization: Bearer TOKEN"? */
#ifndef RL_HTTP_BEARER_H
#define RL_HTTP_BEARER_H

#include "http/http.h"

enum bearer {
    BEARER_RIGHT,
    BEARER_WRONG, /* or none, or several Authorization fields: which of them would count? */
    BEARER_LATER  /* the client has tried too many wrong ones; Retry-After has been added to the answer */
};

/* Takes the same time whatever was guessed; an empty `wanted` is never right. Every wrong token counts
 * against the client (tries.h). A client that has none left is not compared at all, so that it learns
 * nothing: not even the right token helps it then. */
enum bearer bearer_check(struct request *request, const char *wanted);

#endif
