/* What a worker lends its handlers: everything they may reach, in one place, as plain pointers. */
#ifndef RL_HTTP_SERVICES_H
#define RL_HTTP_SERVICES_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config_store.h"
#include "http/client_ip.h"
#include "http/cors.h"
#include "http/gateway.h"
#include "limit/limiter.h"

struct counters;
struct events;
struct hold;
struct http;
struct key_admin;
struct lab;
struct services;
struct tries;

struct guard_settings {
    const char *admin_token; /* NULL: none set. Never logged */
    const char *host;        /* --host as given */
};

/* Something to be done on the thread of every worker, and then (unless NULL) on the thread of the caller. */
struct services_task {
    void (*run)(const struct services *services, void *arg);
    void (*done)(void *arg);
    void *arg;
};

struct services {
    struct limiter *limiter;      /* this worker's */
    struct key_admin *keys;       /* this worker's */
    struct hold *hold;            /* this worker's: answers that wait for their turn */
    struct redis_link *link;      /* this worker's */
    struct http *http;            /* this worker's */
    struct ev_loop *loop;         /* this worker's */
    struct counters *counters;    /* this worker's decisions */
    struct events *events;        /* this worker's listeners */
    struct lab *lab;              /* the process's */
    struct config_store *store;   /* the process's */
    struct tries *tries;          /* the process's: wrong tokens */
    struct config *const *config; /* this worker's current snapshot */
    struct guard_settings guard;
    /* Runs it on each worker, later. From a worker that is not draining. `task` is copied. */
    void (*everywhere)(void *arg, const struct services_task *task);
    void *everywhere_arg;
    const char *check_token; /* opens /check to callers from elsewhere; NULL: none set. Never logged */
    struct client_ip_settings clients;
    enum gateway gateway;
    const struct cors_origins *cors;
    const char *static_dir; /* NULL: the embedded files */
    bool ratelimit_fields;  /* --ratelimit-fields draft-11 */
};

#endif
