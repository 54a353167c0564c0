/* The guard in front of every guarded route. See docs/api.md, "Admin".
 *
 * Does not know which routes are guarded (route.c) nor what they do. */
#include "http/guard.h"

#include <string.h>
#include <strings.h>

#include "http/bearer.h"
#include "http/client_ip.h"
#include "http/fields.h"
#include "http/respond.h"
#include "http/services.h"

static const char REMEDY[] =
    "Start ratelimitd with --admin-token-file FILE (or RATELIMITD_ADMIN_TOKEN) and send "
    "\"Authorization: Bearer TOKEN\", or call it on the machine itself, without a proxy in "
    "between, as http://localhost.";

static bool is_proxy_sign(void *found, const char *name, const char *value) {
    static const char *const names[] = {"Via", "Forwarded", "X-Real-IP"};
    static const char *const families[] = {"X-Forwarded-*", "X-Original-*"};
    const char **sign = found;

    (void)value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0) *sign = names[i];
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncasecmp(name, families[i], strlen(families[i]) - 1) == 0) *sign = families[i];
    return !*sign;
}

/* Reads the one Host of the request; false if there is none, more than one, or one that is no host. */
static bool read_host(const struct request *request, struct field_host *host) {
    const char *text = request_header(request, "Host");

    return text && request_header_count(request, "Host") == 1 && field_host_read(text, host);
}

static bool authority_is_local(const struct request *request) {
    struct field_host host;
    const char *authority = request->uri.authority;

    return !authority ||
           (field_host_read(authority, &host) && field_host_local(&host, request->services->guard.host));
}

/* Without a token: does this request come from the machine itself, by a name of its own? */
static int check_local(const struct request *request, struct err *err) {
    struct field_host host;
    const char *sign = NULL;

    if (!client_ip_loopback(request->peer))
        return err_set(err, "No admin token is set, and you are not on this machine.");
    request_each_header(request, is_proxy_sign, &sign);
    if (sign)
        return err_set(err, "No admin token is set, and the request came through a proxy (header %s).", sign);
    if (!read_host(request, &host) || !field_host_local(&host, request->services->guard.host))
        return err_set(
            err, "No admin token is set, and Host is not one of localhost, 127.0.0.1, [::1] or --host.");
    if (!authority_is_local(request))
        return err_set(err, "No admin token is set, and the request line names another host.");
    return 0;
}

/* A browser tells where a request comes from. What another site's page sends is refused, token or not. */
static int check_same_site(const struct request *request, struct err *err) {
    struct field_host host, authority;
    const char *origin = request_header(request, "Origin");
    const char *site = request_header(request, "Sec-Fetch-Site");

    if (site && (request_header_count(request, "Sec-Fetch-Site") != 1 ||
                 (strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)))
        return err_set(err, "The request comes from another site (Sec-Fetch-Site).");
    if (!origin) return 0;
    if (request_header_count(request, "Origin") != 1 || !read_host(request, &host) ||
        !field_origin_same(origin, &host))
        return err_set(err, "The request comes from a page of another site (Origin).");
    if (request->uri.authority &&
        (!field_host_read(request->uri.authority, &authority) || !field_origin_same(origin, &authority)))
        return err_set(err, "The request line names another host than the page's (Origin).");
    return 0;
}

static bool refuse(struct request *request, unsigned status, const char *why, const char *remedy) {
    respond_log_refused(request, why);
    respond_problem(request, status, NULL, "%s %s", why, remedy);
    return false;
}

bool guard_check(struct request *request) {
    const char *token = request->services->guard.admin_token;
    struct err why = ERR_INIT;

    if (check_same_site(request, &why) != 0)
        return refuse(request, 403, why.text,
                      "Only this server's own page, or a program that is no browser, may call it.");
    if (!token) return check_local(request, &why) == 0 || refuse(request, 403, why.text, REMEDY);
    switch (bearer_check(request, token)) {
    case BEARER_RIGHT:
        return true;
    case BEARER_LATER:
        return refuse(request, 429, "Too many wrong tokens came from your address.",
                      "Until Retry-After is over none is looked at, the right one neither.");
    case BEARER_WRONG:
        break;
    }
    request_reply_header(request, "WWW-Authenticate", "Bearer realm=\"ratelimitd\"");
    return refuse(request, 401, "The admin token is missing or wrong.",
                  "Send it once, as \"Authorization: Bearer TOKEN\".");
}
