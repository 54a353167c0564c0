/* The handlers of the route table, one file a family: api.c, check.c, compat.c, admin.c, keys.c, info.c,
 * metrics.c. */
#ifndef RL_HTTP_HANDLERS_H
#define RL_HTTP_HANDLERS_H

#include "http/http.h"

void api_handle(struct request *request);      /* ANY /api and below */
void check_handle(struct request *request);    /* GET, POST /check */
void check_original(struct request *request);  /* ANY /check/<original target>, by gateway_covers alone */
void compat_test(struct request *request);     /* POST /test */
void compat_config(struct request *request);   /* POST /config */
void admin_config(struct request *request);    /* /admin/config */
void admin_keys(struct request *request);      /* /admin/keys */
void admin_policy(struct request *request);    /* /admin/policies/NAME */
void info_algorithms(struct request *request); /* GET /algorithms */
void info_health(struct request *request);     /* GET /healthz */
void info_ready(struct request *request);      /* GET /readyz */
void metrics_handle(struct request *request);  /* GET /metrics */
void events_handle(struct request *request);   /* GET /lab/events */
void lab_runs(struct request *request);        /* POST /lab/runs */
void lab_state(struct request *request);       /* GET /lab/state */

#endif
