/* Who may call a guarded route (docs/api.md, "Admin"): token, or loopback without a sign of a proxy; Host;
 * Origin. */
#ifndef RL_HTTP_GUARD_H
#define RL_HTTP_GUARD_H

#include <stdbool.h>

#include "http/http.h"

/* True if the request may pass. Otherwise it has been answered (401, 403 or 429, with the remedy). */
bool guard_check(struct request *request);

#endif
