/* GET /metrics: each worker adds its numbers on its own thread, then they are written down.
 *
 * Nothing is locked or shared on the path of a decision: a scrape is what costs, not counting. No number is
 * told by client. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/xmalloc.h"
#include "http/counters.h"
#include "http/exposition.h"
#include "http/handlers.h"
#include "http/respond.h"
#include "http/services.h"
#include "limit/algorithm.h"

static const char MEDIA_TYPE[] = "text/plain; version=0.0.4; charset=utf-8";
static const double MICROSECONDS = 1e6;

struct scrape {
    struct request *request;
    pthread_mutex_t lock; /* over what follows; workers add at about the same time */
    struct counter_row *rows;
    size_t row_count;
    struct counter_totals totals;
    struct redis_link_stats redis;
    unsigned workers, ready; /* of them, those whose link is */
    unsigned connections;
};

/* --- gathering --- */

static struct counter_row *row_for(struct scrape *scrape, const struct counter_row *like) {
    struct counter_row *row = NULL;

    for (size_t i = 0; i < scrape->row_count; i++) {
        row = &scrape->rows[i];
        if (row->algorithm == like->algorithm && strcmp(row->policy, like->policy) == 0) return row;
    }
    scrape->rows = xrealloc(scrape->rows, (scrape->row_count + 1) * sizeof *scrape->rows);
    row = &scrape->rows[scrape->row_count++];
    *row = *like;
    memset(row->counts, 0, sizeof row->counts);
    return row;
}

static void add_counters(struct scrape *scrape, const struct counters *counters) {
    const struct counter_totals *totals = counters_totals(counters);
    size_t count;
    struct counter_row *const *rows = counters_rows(counters, &count);

    for (size_t i = 0; i < count; i++) {
        struct counter_row *row = row_for(scrape, rows[i]);
        for (size_t kind = 0; kind < COUNTED_KINDS; kind++)
            row->counts[FROM_CLIENTS][kind] += rows[i]->counts[FROM_CLIENTS][kind];
    }
    for (size_t i = 0; i <= SOURCE_NONE; i++)
        scrape->totals.sources[i] += totals->sources[i];
    histogram_merge(&scrape->totals.times, &totals->times);
}

static void add_redis(struct scrape *scrape, const struct redis_link *link) {
    const struct redis_link_stats *stats = redis_link_stats(link);

    scrape->redis.reconnects += stats->reconnects;
    scrape->redis.timeouts += stats->timeouts;
    scrape->redis.commands += stats->commands;
    scrape->redis.errors += stats->errors;
    histogram_merge(&scrape->redis.round_trips, &stats->round_trips);
    histogram_merge(&scrape->redis.batches, &stats->batches);
    if (redis_link_state(link) == REDIS_READY) scrape->ready++;
}

static void gather(const struct services *services, void *arg) {
    struct scrape *scrape = arg;

    pthread_mutex_lock(&scrape->lock);
    scrape->workers++;
    scrape->connections += http_connections(services->http);
    add_counters(scrape, services->counters);
    add_redis(scrape, services->link);
    pthread_mutex_unlock(&scrape->lock);
}

/* --- writing --- */

static void write_decisions(struct buf *out, const struct scrape *scrape) {
    static const char name[] = "ratelimitd_decisions_total";

    exposition_family(out, name, "counter", "Decisions by policy, algorithm and outcome.");
    for (size_t i = 0; i < scrape->row_count; i++) {
        const struct counter_row *row = &scrape->rows[i];
        for (int kind = 0; kind < COUNTED_KINDS; kind++) {
            const struct label labels[] = {{"policy", row->policy},
                                           {"algorithm", row->algorithm->name},
                                           {"outcome", counted_name((enum counted)kind)}};
            exposition_sample(out, name, labels, 3, (double)row->counts[FROM_CLIENTS][kind]);
        }
    }
}

static void write_sources(struct buf *out, const struct scrape *scrape) {
    static const char name[] = "ratelimitd_decisions_by_source_total";

    exposition_family(out, name, "counter", "Decisions by who made them.");
    for (int i = 0; i <= SOURCE_NONE; i++) {
        const struct label label = {"source", decision_source_name((enum decision_source)i)};
        exposition_sample(out, name, &label, 1, (double)scrape->totals.sources[i]);
    }
    exposition_single(out, "ratelimitd_denial_cache_hits_total", "counter",
                      "Denials answered without asking Redis.", (double)scrape->totals.sources[SOURCE_CACHE]);
}

static void write_redis(struct buf *out, const struct scrape *scrape) {
    const struct redis_link_stats *redis = &scrape->redis;

    exposition_single(out, "ratelimitd_redis_up", "gauge", "Whether Redis decides: 1 on all threads, else 0.",
                      scrape->ready == scrape->workers);
    exposition_single(out, "ratelimitd_redis_reconnects_total", "counter",
                      "Connections to Redis made anew after one was lost.", (double)redis->reconnects);
    exposition_single(out, "ratelimitd_redis_timeouts_total", "counter",
                      "Commands that Redis did not answer in time.", (double)redis->timeouts);
    exposition_single(out, "ratelimitd_redis_errors_total", "counter",
                      "Commands that Redis answered with an error.", (double)redis->errors);
    exposition_single(out, "ratelimitd_redis_commands_total", "counter", "Commands sent to Redis.",
                      (double)redis->commands);
    exposition_histogram(out, "ratelimitd_redis_seconds", "Time from a command to Redis's answer.",
                         &redis->round_trips, MICROSECONDS);
    exposition_histogram(out, "ratelimitd_redis_batch_size", "Commands sent to Redis in one write.",
                         &redis->batches, 1);
}

static void write_process(struct buf *out, const struct scrape *scrape) {
    const struct services *services = scrape->request->services;
    const struct label version = {"version", RATELIMITD_VERSION};
    struct rusage usage;

    exposition_single(out, "ratelimitd_connections_open", "gauge", "Connections of clients.",
                      scrape->connections);
    exposition_single(out, "ratelimitd_threads", "gauge", "Event-loop threads.", scrape->workers);
    exposition_single(out, "ratelimitd_config_version", "gauge", "Version of the configuration in force.",
                      (double)scrape->request->config->version);
    exposition_single(out, "ratelimitd_instances", "gauge", "Instances alive on this Redis and prefix.",
                      config_store_instances(services->store));
    exposition_family(out, "ratelimitd_build_info", "gauge", "Always 1; the version is in the label.");
    exposition_sample(out, "ratelimitd_build_info", &version, 1, 1);
    getrusage(RUSAGE_SELF, &usage);
    exposition_single(out, "process_cpu_seconds_total", "counter", "CPU time of this process.",
                      (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / MICROSECONDS);
}

static void scrape_free(struct scrape *scrape) {
    pthread_mutex_destroy(&scrape->lock);
    free(scrape->rows);
    free(scrape);
}

static void answer(void *arg) {
    struct scrape *scrape = arg;
    struct buf out = BUF_INIT(RESPOND_BODY_MAX);

    write_decisions(&out, scrape);
    write_sources(&out, scrape);
    exposition_histogram(&out, "ratelimitd_decision_seconds",
                         "Time from a request to its decision; what a reply is held is not in it.",
                         &scrape->totals.times, MICROSECONDS);
    write_redis(&out, scrape);
    write_process(&out, scrape);
    respond_text(scrape->request, 200, MEDIA_TYPE, &out);
    scrape_free(scrape);
}

void metrics_handle(struct request *request) {
    const struct services *services = request->services;
    struct scrape *scrape;

    if (request_draining(request)) {
        respond_problem(request, 503, NULL, "The server is stopping.");
        return;
    }
    scrape = xcalloc(1, sizeof *scrape);
    scrape->request = request;
    pthread_mutex_init(&scrape->lock, NULL);
    scrape->totals.times.scale = scrape->redis.round_trips.scale = &histogram_times;
    scrape->redis.batches.scale = &histogram_sizes;
    const struct services_task task = {.run = gather, .done = answer, .arg = scrape};
    services->everywhere(services->everywhere_arg, &task);
}
