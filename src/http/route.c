/* The table of routes, and what is asked of every request before a handler sees it: path, guard, method,
 * size, media type.
 *
 * Does not know what handlers do. A refusal is given as soon as the headers are there. */
#include "http/route.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "http/cors.h"
#include "http/fields.h"
#include "http/gateway.h"
#include "http/guard.h"
#include "http/handlers.h"
#include "http/respond.h"
#include "http/site.h"

enum {
    KIB = 1024,
    MIB = 1024 * 1024,
    ANY_METHOD = 2 * HTTP_OTHER - 1,
    ANY_BUT_OPTIONS = ANY_METHOD & ~HTTP_OPTIONS,
    CHANGEABLE = HTTP_GET | HTTP_PUT | HTTP_PATCH | HTTP_DELETE,
    IGNORED_BODY = 64 * KIB /* of a body that nobody looks at */
};

const struct route routes[] = {
    {"/api", true, false, ANY_BUT_OPTIONS, MEDIA_ANY, MIB, api_handle, NULL},
    {"/check", false, false, HTTP_GET | HTTP_POST, MEDIA_ANY, IGNORED_BODY, check_handle, NULL},
    {"/test", false, false, HTTP_POST, MEDIA_ANY, IGNORED_BODY, compat_test, NULL},
    {"/config", false, true, HTTP_POST, MEDIA_FORM, 64 * KIB, compat_config, NULL},
    {"/algorithms", false, false, HTTP_GET, MEDIA_ANY, IGNORED_BODY, info_algorithms, NULL},
    {"/admin/config", false, true, CHANGEABLE, MEDIA_JSON, MIB, admin_config, NULL},
    {"/admin/keys", false, true, HTTP_GET | HTTP_DELETE, MEDIA_JSON, 64 * KIB, admin_keys, NULL},
    {"/admin/policies", true, true, CHANGEABLE, MEDIA_JSON, 64 * KIB, admin_policy, NULL},
    {"/lab/state", false, true, HTTP_GET, MEDIA_JSON, 64 * KIB, lab_state, NULL},
    {"/lab/runs", false, true, HTTP_POST, MEDIA_JSON, 64 * KIB, lab_runs, NULL},
    {"/lab/events", false, true, HTTP_GET, MEDIA_JSON, 64 * KIB, events_handle, NULL},
    {"/healthz", false, false, HTTP_GET, MEDIA_ANY, IGNORED_BODY, info_health, NULL},
    {"/readyz", false, false, HTTP_GET, MEDIA_ANY, IGNORED_BODY, info_ready, NULL},
    {"/metrics", false, false, HTTP_GET, MEDIA_ANY, IGNORED_BODY, metrics_handle, NULL},
    /* Last, since it fits every path. */
    {"/", true, false, HTTP_GET, MEDIA_ANY, IGNORED_BODY, site_handle, site_has},
};
const size_t route_count = sizeof routes / sizeof *routes;

/* Found by how a gateway writes the target, not by the table: the path below is its client's. */
static const struct route original_route = {"/check",  true, false,          ANY_METHOD,
                                            MEDIA_ANY, MIB,  check_original, NULL};

static const char *const media_types[][2] = {
    [MEDIA_JSON] = {"application/json", "application/merge-patch+json"},
    [MEDIA_FORM] = {"application/x-www-form-urlencoded", NULL},
};

static bool is_below(const char *path, const char *prefix) {
    size_t len = strlen(prefix);

    if (len == 1) return true; /* "/" */
    return strncmp(path, prefix, len) == 0 && path[len] == '/';
}

const struct route *route_find(const char *path) {
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        bool fits = strcmp(path, route->path) == 0 || (route->below && is_below(path, route->path));
        if (fits && (!route->covers || route->covers(path))) return route;
    }
    return NULL;
}

bool route_private(const char *path) {
    static const char *const prefixes[] = {"/admin", "/lab", "/config"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t len = strlen(prefixes[i]);
        if (strncasecmp(path, prefixes[i], len) == 0 && (path[len] == '/' || path[len] == '\0')) return true;
    }
    return false;
}

static unsigned methods_taken(unsigned methods) {
    return methods | HTTP_OPTIONS | (methods & HTTP_GET ? HTTP_HEAD : 0);
}

void route_allow(unsigned methods, char *out, size_t size) {
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < http_method_count; i++) {
        if (!(methods_taken(methods) & http_method_names[i].method) || len >= size) continue;
        len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", http_method_names[i].name);
    }
}

static void answer_options(struct request *request, unsigned methods) {
    char allow[ROUTE_ALLOW_MAX];

    route_allow(methods, allow, sizeof allow);
    request_reply_header(request, "Allow", allow);
    respond_empty(request, 204);
}

static void refuse_method(struct request *request) {
    char allow[ROUTE_ALLOW_MAX];

    route_allow(request->route->methods, allow, sizeof allow);
    request_reply_header(request, "Allow", allow);
    respond_problem(request, 405, NULL, "%s takes %s; got %.32s.", request->uri.path, allow,
                    request->method_name);
}

/* Has the body, if there is one, a media type that the route takes? Else it has been answered. */
static bool check_media(struct request *request) {
    const char *const *types = media_types[request->route->media];
    const char *type = request_header(request, "Content-Type");

    if (request->route->media == MEDIA_ANY) return true;
    if (type && request_header_count(request, "Content-Type") == 1)
        for (size_t i = 0; i < 2 && types[i]; i++)
            if (field_media_is(type, types[i])) return true;
    respond_problem(request, 415, "Content-Type", "Content-Type must be %s%s%s, in UTF-8; got %.64s.",
                    types[0], types[1] ? " or " : "", types[1] ? types[1] : "", type ? type : "none");
    return false;
}

/* Judges a body by what the headers say of it. What comes without a length, http.c counts and route_complete
 * looks at. */
static bool check_announced(struct request *request) {
    const char *text = request_header(request, "Content-Length");
    int64_t length;

    if (!text) return true;
    if (!field_whole(text, strlen(text), &length) || (uint64_t)length > request->route->body_max) {
        respond_problem(request, 413, NULL, "The body may have %zu bytes at most; got %.20s.",
                        request->route->body_max, text);
        return false;
    }
    return length == 0 || check_media(request);
}

static void refuse_unknown(struct request *request) {
    if (request->method == HTTP_OPTIONS && strcmp(request->uri.path, "*") == 0) {
        answer_options(request, ANY_METHOD);
    } else if (!route_private(request->uri.path) || guard_check(request)) {
        respond_problem(request, 404, NULL, "There is nothing at %s.", request->uri.path);
    }
}

/* Of what a full server keeps connections free for. */
static bool for_operators(const char *path) {
    static const char *const paths[] = {"/healthz", "/readyz", "/metrics"};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strcmp(path, paths[i]) == 0) return true;
    return route_private(path);
}

size_t route_headers(struct request *request) {
    const struct route *route = gateway_covers(request) ? &original_route : route_find(request->uri.path);

    request->route = route;
    log_debug("%s %s from %s", request->method_name, request->uri.path, request->client_ip);
    cors_headers(request);
    if (request->reserved && !for_operators(request->uri.path)) {
        request_reply_header(request, "Retry-After", "1");
        respond_problem(request, 503, NULL, "The server has all the connections it may have.");
        return IGNORED_BODY;
    }
    if (!route) {
        refuse_unknown(request);
        return IGNORED_BODY;
    }
    request->body_ignored = route->media == MEDIA_ANY;
    if (route->guarded && !guard_check(request)) return route->body_max;
    if (cors_preflight(request)) {
        respond_empty(request, 204);
    } else if (request->method == HTTP_OPTIONS && !(route->methods & HTTP_OPTIONS)) {
        answer_options(request, route->methods);
    } else if (!(methods_taken(route->methods) & request->method)) {
        refuse_method(request);
    } else {
        check_announced(request);
    }
    return route->body_max;
}

void route_complete(struct request *request) {
    if (request->body.len == 0 || check_media(request)) request->route->handler(request);
}
