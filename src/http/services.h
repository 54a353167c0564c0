/* What a worker lends its handlers: everything they may reach, in one place, as plain pointers. */
#ifndef RL_HTTP_SERVICES_H
#define RL_HTTP_SERVICES_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config_store.h"
#include "http/client_ip.h"
#include "http/gateway.h"
#include "limit/limiter.h"

struct hold;
struct key_admin;

struct guard_settings {
    const char *admin_token; /* NULL: none set. Never logged */
    const char *host;        /* --host as given */
};

struct services {
    struct limiter *limiter;      /* this worker's */
    struct key_admin *keys;       /* this worker's */
    struct hold *hold;            /* this worker's: answers that wait for their turn */
    struct config_store *store;   /* the process's */
    struct config *const *config; /* this worker's current snapshot */
    struct guard_settings guard;
    const char *check_token; /* opens /check to callers from elsewhere; NULL: none set. Never logged */
    struct client_ip_settings clients;
    enum gateway gateway;
    const char *static_dir; /* NULL: the embedded files */
    bool ratelimit_fields;  /* --ratelimit-fields draft-11 */
};

#endif
