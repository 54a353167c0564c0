/* The original request of a gateway, read from what the gateway sends.
 *
 * Chooses no policy and decides nothing: check.c does. */
#include "http/gateway.h"

#include <string.h>

#include "base/buf.h"
#include "http/services.h"
#include "http/subject.h"
#include "http/uri.h"

enum { TARGET_MAX = 64 * 1024 }; /* the head of a request is smaller */

static const char CHECK[] = "/check";

static const struct {
    const char *uri, *method;
} fields[] = {
    [GATEWAY_X_ORIGINAL] = {"X-Original-URI", "X-Original-Method"},
    [GATEWAY_X_FORWARDED] = {"X-Forwarded-Uri", "X-Forwarded-Method"},
    [GATEWAY_PATH] = {NULL, NULL},
};

bool gateway_tells(const struct request *request) {
    enum gateway gateway = request->services->gateway;

    return request->peer_trusted && gateway != GATEWAY_NONE && fields[gateway].uri;
}

bool gateway_covers(const struct request *request) {
    const char *path = request->uri.raw_path;

    return request->peer_trusted && request->services->gateway == GATEWAY_PATH &&
           strncmp(path, CHECK, sizeof CHECK - 1) == 0 && path[sizeof CHECK - 1] == '/';
}

/* The one value of a field; two would be the gateway's and the client's. */
static const char *read_field(const struct request *request, const char *name, struct err *err) {
    size_t count = request_header_count(request, name);
    const char *value = request_header(request, name);

    if (count == 1 && value && *value) return value;
    err_set(err, "%s is %s; the gateway must set it, once.", name,
            count == 0  ? "missing"
            : count > 1 ? "given twice"
                        : "empty");
    return NULL;
}

static int read_target(const char *name, const char *target, size_t len, struct uri *uri, struct err *err) {
    struct err why = ERR_INIT;

    if (uri_parse(uri, target, len, &why) == 0) return 0;
    return err_set(err, "%s cannot be read: %s.", name, why.text);
}

static int read_fields(const struct request *request, struct subject *subject, struct uri *uri,
                       struct err *err) {
    enum gateway gateway = request->services->gateway;
    const char *target = read_field(request, fields[gateway].uri, err);

    if (!target) return -1;
    subject->method_name = read_field(request, fields[gateway].method, err);
    if (!subject->method_name) return -1;
    subject->method = http_method_of(subject->method_name);
    return read_target(fields[gateway].uri, target, strlen(target), uri, err);
}

static int read_path(const struct request *request, struct uri *uri, struct err *err) {
    struct buf target = BUF_INIT(TARGET_MAX);

    buf_adds(&target, request->uri.raw_path + sizeof CHECK - 1);
    if (*request->uri.raw_query) buf_addc(&target, '?');
    buf_adds(&target, request->uri.raw_query);
    int result = read_target("The original target", buf_str(&target), target.len, uri, err);
    buf_free(&target);
    return result;
}

int gateway_read(const struct request *request, struct subject *subject, struct uri *uri, struct err *err) {
    *uri = (struct uri){.path = ""};
    *subject = (struct subject){request, request->method, request->method_name, uri};
    if (gateway_covers(request)) return read_path(request, uri, err);
    return read_fields(request, subject, uri, err);
}
