/* How a gateway tells of the request it asks about: the original one, which it holds back meanwhile.
 *
 * Only a trusted proxy is believed, and only in the one form that --gateway names: what else a request
 * carries came from the client. */
#ifndef RL_HTTP_GATEWAY_H
#define RL_HTTP_GATEWAY_H

#include <stdbool.h>

#include "base/err.h"

enum gateway {
    GATEWAY_NONE,        /* there is no original request */
    GATEWAY_X_ORIGINAL,  /* X-Original-URI and X-Original-Method: nginx */
    GATEWAY_X_FORWARDED, /* X-Forwarded-Uri and X-Forwarded-Method: Traefik, Caddy */
    GATEWAY_PATH         /* /check/<original path and query>, by the original method: Envoy */
};

struct request;
struct subject;
struct uri;

/* May this request tell of an original one in header fields, by its peer and by --gateway. */
bool gateway_tells(const struct request *request);

/* Is the whole target behind /check the original one's. Looks at the target as sent: in its canonical form
 * "/check/../api" would be another address, and what a client asks for must not choose that. */
bool gateway_covers(const struct request *request);

/* Reads the original request into `subject`, which then points into `uri` and the request. -1 with words that
 * name the field at fault. Free `uri` with uri_free in either case. */
int gateway_read(const struct request *request, struct subject *subject, struct uri *uri, struct err *err);

#endif
