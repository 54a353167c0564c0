/* Query parameters of a route that knows which it takes. One thread: the request's. */
#ifndef RL_HTTP_QUERY_H
#define RL_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http.h"

/* Sets fields[i] to the parameter of names[i], NULL if it is absent. False if the request has been answered:
 * 400 for a parameter that is not among them, or is given twice. */
bool query_read(struct request *request, const char *const *names, size_t count,
                const struct uri_param **fields);

#endif
