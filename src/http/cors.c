/* Cross-origin reading of /api. Admits nobody: what a page may do it may do without this, but it could not
 * read the answer. */
#include "http/cors.h"

#include <stdlib.h>
#include <string.h>

#include "base/xmalloc.h"
#include "http/http.h"
#include "http/services.h"

enum { ECHO_MAX = 1024 };
static const char EXPOSED[] = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "
                              "X-RateLimit-Shadow, RateLimit, RateLimit-Policy, Retry-After";

bool cors_origin_valid(const char *text) {
    static const char host_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_[]:";
    const char *host = strstr(text, "://");
    size_t scheme_len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

    if (strcmp(text, "*") == 0) return true;
    if (strlen(text) > CORS_ORIGIN_MAX) return false;
    return host && (size_t)(host - text) == scheme_len && scheme_len > 0 && host[3] != '\0' &&
           host[3] != ':' && host[3 + strspn(host + 3, host_chars)] == '\0';
}

void cors_origins_add(struct cors_origins *origins, const char *name) {
    origins->names = xrealloc(origins->names, (origins->count + 1) * sizeof *origins->names);
    origins->names[origins->count++] = xstrdup(name);
}

void cors_origins_free(struct cors_origins *origins) {
    for (size_t i = 0; i < origins->count; i++)
        free(origins->names[i]);
    free(origins->names);
    *origins = (struct cors_origins){0};
}

static bool has(const struct cors_origins *origins, const char *name) {
    for (size_t i = 0; i < origins->count; i++)
        if (strcmp(origins->names[i], name) == 0) return true;
    return false;
}

/* A path that cannot be read is judged by how it begins. */
static bool covers(const struct request *request) {
    const char *path = *request->uri.path ? request->uri.path : request->uri.raw_path;

    return request->services->cors->count > 0 && strncmp(path, "/api", 4) == 0 &&
           (path[4] == '\0' || path[4] == '/');
}

/* What Access-Control-Allow-Origin says; NULL: nothing. */
static const char *allowed(const struct request *request) {
    const struct cors_origins *origins = request->services->cors;
    const char *origin = request_header(request, "Origin");

    if (has(origins, "*")) return "*";
    return origin && has(origins, origin) && request_header_count(request, "Origin") == 1 ? origin : NULL;
}

void cors_headers(struct request *request) {
    const char *origin;

    if (!covers(request)) return;
    origin = allowed(request);
    if (!has(request->services->cors, "*")) request_reply_header(request, "Vary", "Origin");
    if (!origin) return;
    request_reply_header(request, "Access-Control-Allow-Origin", origin);
    request_reply_header(request, "Access-Control-Expose-Headers", EXPOSED);
}

bool cors_preflight(struct request *request) {
    const char *method = request_header(request, "Access-Control-Request-Method");
    const char *headers = request_header(request, "Access-Control-Request-Headers");

    if (request->method != HTTP_OPTIONS || !method || !covers(request) || !allowed(request)) return false;
    request_reply_header(request, "Access-Control-Allow-Methods",
                         "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    if (headers && strlen(headers) <= ECHO_MAX)
        request_reply_header(request, "Access-Control-Allow-Headers", headers);
    request_reply_header(request, "Access-Control-Max-Age", "600");
    return true;
}
