/* The table of routes: which path and method goes to which handler, what guards it, how large a body may be.
 */
#ifndef RL_HTTP_ROUTE_H
#define RL_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http.h"

enum media { MEDIA_ANY, MEDIA_JSON, MEDIA_FORM };

struct route {
    const char *path; /* canonical; "/api" */
    bool below;       /* also everything below path */
    bool guarded;     /* passes guard_check first */
    unsigned methods; /* bits of enum http_method; HEAD is implied by GET, OPTIONS is answered by the table
                         unless it is named */
    enum media media; /* of a body, where one is wanted */
    size_t body_max;  /* bytes */
    void (*handler)(struct request *request);
    bool (*covers)(const char *path); /* NULL: every path that fits; else only those it says yes to */
};

extern const struct route routes[];
extern const size_t route_count;

/* The route of a canonical path, NULL if there is none. */
const struct route *route_find(const char *path);

/* Is the path one that only a guarded route may answer (/admin, /lab, /config, in any case of letters)? What
 * is not there is refused like the rest, so that nobody learns what is. */
bool route_private(const char *path);

/* "GET, HEAD, OPTIONS": the methods a route takes, for Allow. `size` of ROUTE_ALLOW_MAX is enough. */
enum { ROUTE_ALLOW_MAX = 64 };
void route_allow(unsigned methods, char *out, size_t size);

/* Callbacks for http.h: finds the route, answers 404, 405, OPTIONS, guard refusals, 413 and 415; else calls
 * the handler. */
size_t route_headers(struct request *request);
void route_complete(struct request *request);

#endif
