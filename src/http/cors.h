/* Cross-origin reading of /api (--cors-origin): which pages may call it and read its headers. */
#ifndef RL_HTTP_CORS_H
#define RL_HTTP_CORS_H

#include <stdbool.h>
#include <stddef.h>

struct request;

struct cors_origins {
    char **names; /* owned: "https://app.example", or "*" */
    size_t count;
};

enum {
    CORS_ORIGIN_MAX = 300,                   /* scheme, a name of 253 characters, port */
    CORS_HEADERS_MAX = CORS_ORIGIN_MAX + 260 /* what cors_headers adds, with line ends */
};

/* Is it an origin as browsers write it (scheme, host, port if not the scheme's own; no more than
 * CORS_ORIGIN_MAX bytes), or "*"? */
bool cors_origin_valid(const char *text);
void cors_origins_add(struct cors_origins *origins, const char *name);
void cors_origins_free(struct cors_origins *origins);

/* Adds what an answer of /api carries, whatever its status; other paths get nothing. Before the answer. */
void cors_headers(struct request *request);

/* A browser that asks before it calls: adds what the answer says. False if it is not that. */
bool cors_preflight(struct request *request);

#endif
