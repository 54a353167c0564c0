/* The process: starts the parts in order, waits for a signal, stops them in the opposite order. */
#include "app/server.h"

#include <ev.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "app/admission.h"
#include "app/crew.h"
#include "app/document.h"
#include "app/embedded_redis.h"
#include "app/listener.h"
#include "app/reload.h"
#include "app/secret.h"
#include "app/worker.h"
#include "base/count.h"
#include "base/log.h"
#include "base/xmalloc.h"
#include "config/config_store.h"
#include "http/lab.h"
#include "http/site.h"
#include "http/tls.h"
#include "http/tries.h"
#include "limit/decide_script.h"

enum { STOP_GRACE_MS = 5000, SETTLE_MIN_MS = 1000, SPARE_DESCRIPTORS = 256 };

/* Something that every worker does once (and for `settled` the store, too). */
struct tally {
    struct server *server;
    atomic_uint missing; /* workers that have not done it */
};

struct server {
    const struct options *options;
    struct ev_loop *loop; /* the main thread's: signals and the acceptor */
    ev_signal terminate, interrupt, hangup;
    ev_async reported; /* a worker has reported to a tally */
    struct tally settled, drained, *awaited;
    bool stop_asked; /* by a signal, which may come before all has started */
    struct embedded_redis *private_redis;
    struct redis_settings redis;
    char *probe_key;
    struct config_store *store;
    struct lab *lab;
    struct tries *tries;
    struct worker_settings worker_settings;
    struct crew crew;
    struct admission *admission;
    struct listener *listener;
    char *made_token; /* for this run, where somebody beyond this machine could call and no token is set */
};

/* --- waiting for all workers ------------------------------------------------------------------------- */

/* Any thread. */
static void tally_report(void *arg) {
    struct tally *tally = arg;

    atomic_fetch_sub(&tally->missing, 1);
    ev_async_send(tally->server->loop, &tally->server->reported);
}

static void tally_begin(struct tally *tally, struct server *server, size_t workers) {
    tally->server = server;
    atomic_store(&tally->missing, (unsigned)workers);
}

static void on_reported(struct ev_loop *loop, ev_async *watcher, int events) {
    struct server *server = watcher->data;

    (void)events;
    if (server->awaited && atomic_load(&server->awaited->missing) == 0) ev_break(loop, EVBREAK_ALL);
}

/* Runs the loop until every worker has reported, or something else ends it. */
static void tally_wait(struct tally *tally) {
    tally->server->awaited = tally;
    if (atomic_load(&tally->missing) > 0) ev_run(tally->server->loop, 0);
    tally->server->awaited = NULL;
}

static void on_waited_enough(struct ev_loop *loop, ev_timer *watcher, int events) {
    (void)watcher, (void)events;
    ev_break(loop, EVBREAK_ALL);
}

/* The first request shall find Redis, if there is one, and the settings that it holds: serve when every link
 * is ready or has failed, or after a while. */
static void wait_for_redis(struct server *server) {
    const int timeout_ms = server->options->redis_timeout_ms;
    ev_timer limit;

    ev_timer_init(&limit, on_waited_enough,
                  (timeout_ms > SETTLE_MIN_MS ? timeout_ms : SETTLE_MIN_MS) / 1000.0, 0.0);
    ev_timer_start(server->loop, &limit);
    tally_wait(&server->settled);
    ev_timer_stop(server->loop, &limit);
}

static void on_hangup(struct ev_loop *loop, ev_signal *watcher, int events) {
    const struct server *server = watcher->data;

    (void)loop, (void)events;
    reload(server->options, server->store);
}

/* --- start
 * ------------------------------------------------------------------------------------------------------ */

static void raise_descriptor_limit(unsigned connections) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)connections + SPARE_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    if (limit.rlim_max < wanted) { /* root may; others keep what they have */
        struct rlimit raised = {wanted, wanted};

        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return;
        log_warn("--max-connections %u needs %lu file descriptors, the system allows %lu", connections,
                 (unsigned long)wanted, (unsigned long)limit.rlim_max);
        wanted = limit.rlim_max;
    }
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* No policy's key looks like this, since it has no client. */
static char *probe_key_new(const char *prefix) {
    struct buf key = BUF_INIT(64 * 1024);

    buf_addf(&key, "%sprobe", prefix);
    return buf_take(&key);
}

static int start_redis(struct server *server, struct err *err) {
    const struct options *options = server->options;

    server->probe_key = probe_key_new(options->key_prefix);
    server->redis = (struct redis_settings){
        .host = options->redis_host,
        .port = options->redis_port,
        .socket_path = options->redis_socket,
        .db = options->redis_db,
        .user = options->redis_user,
        .password = options->redis_password,
        .timeout_ms = options->redis_timeout_ms,
        .probe_key = server->probe_key,
    };
    decide_scripts_init();
    if (!options->with_redis) return 0;
    server->private_redis = embedded_redis_start(err);
    if (!server->private_redis) return -1;
    server->redis.socket_path = embedded_redis_socket(server->private_redis);
    return 0;
}

static int start_store(struct server *server, struct err *err) {
    const struct options *options = server->options;
    struct config_refusal why = {.err = ERR_INIT};
    struct buf json = BUF_INIT(DOCUMENT_MAX);

    options_config_json(options, &json);
    struct config *first = config_parse(buf_str(&json), json.len, 1, &why);
    buf_free(&json);
    if (!first) return err_set(err, "the settings of the start are not valid: %s", why.err.text);
    const struct config_store_settings settings = {
        .first = first,
        .first_source = options->start_source,
        .file = options->config_path,
        .loop = server->loop,
        .redis = &server->redis,
        .key_prefix = options->key_prefix,
        .host = {.publish = crew_publish,
                 .caller = crew_caller,
                 .post = crew_post,
                 .counted = crew_counted,
                 .arg = &server->crew},
        .settled = tally_report,
        .settled_arg = &server->settled,
    };
    server->store = config_store_new(&settings);
    config_unref(first);
    return 0;
}

/* Calls through a proxy cannot be told from calls of this machine, and those from elsewhere need a token
 * anyway. */
static void make_token(struct server *server) {
    const struct options *options = server->options;
    struct ip host;
    bool local = strcmp(options->host, "localhost") == 0 ||
                 (ip_parse(options->host, strlen(options->host), &host) && ip_is_loopback(&host));

    if (options->admin_token || (local && options->trusted_proxies.count == 0)) return;
    server->made_token = secret_random();
}

static int start_workers(struct server *server, struct err *err) {
    const struct options *options = server->options;
    struct config *first = config_store_current(server->store);
    int result = 0;

    server->crew.local = local_limiter_new(LOCAL_KEYS_MAX, LOCAL_BYTES_MAX);
    server->lab = lab_new();
    server->tries = tries_new();
    server->worker_settings = (struct worker_settings){
        .redis = &server->redis,
        .local = server->crew.local,
        .key_prefix = options->key_prefix,
        .denial_cache = options->denial_cache,
        .max_connections = (unsigned)options->max_connections,
        .admission = server->admission,
        .tls = options->tls_cert != NULL,
        .settled = tally_report,
        .settled_arg = &server->settled,
        .services = {.store = server->store,
                     .lab = server->lab,
                     .tries = server->tries,
                     .everywhere = crew_everywhere,
                     .everywhere_arg = &server->crew,
                     .guard = {.admin_token = server->made_token ? server->made_token : options->admin_token,
                               .host = options->host},
                     .check_token = options->check_token,
                     .clients = {.trusted = options->trusted_proxies,
                                 .ipv6_prefix = (unsigned)options->ipv6_prefix},
                     .gateway = options->gateway,
                     .cors = &options->cors_origins,
                     .static_dir = options->static_dir,
                     .ratelimit_fields = options->ratelimit_fields},
    };
    tally_begin(&server->settled, server, (size_t)options->threads + 1); /* and the store */
    server->crew.workers = xcalloc((size_t)options->threads, sizeof(struct worker *));
    for (int i = 0; i < options->threads && result == 0; i++) {
        struct worker *worker = worker_start(i, &server->worker_settings, first, err);

        if (worker)
            server->crew.workers[server->crew.count++] = worker;
        else
            result = -1;
    }
    config_unref(first);
    return result;
}

/* Past stdio, whose buffer would keep it. */
static void print_token(const char *token) {
    static const char before[] = "Admin token of this run: ",
                      behind[] = " (--admin-token-file sets one that stays)\n";
    const struct iovec parts[] = {{(void *)(uintptr_t)before, sizeof before - 1},
                                  {(void *)(uintptr_t)token, strlen(token)},
                                  {(void *)(uintptr_t)behind, sizeof behind - 1}};

    if (writev(STDOUT_FILENO, parts, COUNT(parts)) < 0) log_warn("the token of this run cannot be printed");
}

static void print_address(const struct server *server) {
    const struct options *options = server->options;

    printf("ratelimitd %s listening on %s (Redis ", RATELIMITD_VERSION, listener_place(server->listener));
    if (server->private_redis)
        printf("private, %s", server->redis.socket_path);
    else if (server->redis.socket_path)
        printf("%s", server->redis.socket_path);
    else
        printf(strchr(server->redis.host, ':') ? "[%s]:%d" : "%s:%d", server->redis.host, server->redis.port);
    printf(", %d thread%s)\n", options->threads, options->threads == 1 ? "" : "s");
    fflush(stdout);
    if (server->made_token) print_token(server->made_token);
}

/* --- stop
 * ------------------------------------------------------------------------------------------------------- */

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int events) {
    struct server *server = watcher->data;

    (void)events;
    server->stop_asked = true;
    ev_break(loop, EVBREAK_ALL);
}

static void worker_drained(struct worker *worker, void *arg) {
    (void)worker;
    tally_report(arg);
}

/* All workers stay until the last has answered what it had: a change in flight needs every one of them. */
static void stop_workers(struct server *server) {
    tally_begin(&server->drained, server, server->crew.count);
    for (size_t i = 0; i < server->crew.count; i++) {
        worker_drain(server->crew.workers[i], STOP_GRACE_MS, worker_drained, &server->drained);
    }
    tally_wait(&server->drained);
    for (size_t i = 0; i < server->crew.count; i++)
        worker_finish(server->crew.workers[i]);
    for (size_t i = 0; i < server->crew.count; i++)
        worker_free(server->crew.workers[i]);
    free(server->crew.workers);
}

static void watch_signals(struct server *server) {
    signal(SIGPIPE, SIG_IGN);
    server->loop = ev_default_loop(0);
    ev_signal_init(&server->terminate, on_signal, SIGTERM);
    ev_signal_init(&server->interrupt, on_signal, SIGINT);
    ev_signal_init(&server->hangup, on_hangup, SIGHUP);
    ev_async_init(&server->reported, on_reported);
    server->reported.data = server->hangup.data = server;
    server->terminate.data = server->interrupt.data = server;
    ev_signal_start(server->loop, &server->terminate);
    ev_signal_start(server->loop, &server->interrupt);
    ev_signal_start(server->loop, &server->hangup);
    ev_async_start(server->loop, &server->reported);
}

static int start(struct server *server, struct err *err) {
    const struct options *options = server->options;
    unsigned connections = (unsigned)options->max_connections;

    raise_descriptor_limit(connections);
    if (options->tls_cert && tls_load(options->tls_cert, options->tls_key, err) != 0) return -1;
    server->admission = admission_new(&(struct admission_settings){
        .max_connections = connections,
        .max_per_ip = (unsigned)options->max_connections_per_ip,
        .trusted = &options->trusted_proxies,
        .ipv6_prefix = (unsigned)options->ipv6_prefix,
    });
    server->listener = listener_open(options->host, options->port, options->tls_cert != NULL, err);
    if (!server->listener || start_redis(server, err) != 0 || start_store(server, err) != 0) return -1;
    make_token(server);
    if (start_workers(server, err) != 0) return -1;
    wait_for_redis(server);
    listener_start(server->listener, server->loop, server->crew.workers, server->crew.count,
                   server->admission);
    return 0;
}

int server_run(const struct options *options) {
    struct server server = {.options = options};
    struct err err = ERR_INIT;
    int status = 1;

    log_setup(options->log_level, options->log_json);
    if (*options->unknown_variables)
        log_warn("ignored in the environment, since no option is called so: %s", options->unknown_variables);
    site_init();
    watch_signals(&server);
    if (start(&server, &err) == 0) {
        print_address(&server);
        if (!server.stop_asked) ev_run(server.loop, 0);
        log_info("stopping");
        listener_stop(server.listener);
        status = 0;
    } else {
        fprintf(stderr, "ratelimitd: %s\n", err.text);
    }
    stop_workers(&server);
    listener_free(server.listener);
    admission_free(server.admission);
    tls_free();
    secret_free(server.made_token);
    lab_free(server.lab);
    tries_free(server.tries);
    config_store_free(server.store);
    local_limiter_free(server.crew.local);
    embedded_redis_stop(server.private_redis);
    free(server.probe_key);
    ev_loop_destroy(server.loop);
    return status;
}
