/* Messages to all workers and back. Knows nothing of what they carry. */
#include "app/crew.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/xmalloc.h"

/* --- a new snapshot --- */

struct publication {
    struct config *config;
    atomic_uint missing; /* workers that do not use it yet, and the publisher */
    void (*acked)(void *arg);
    void *arg;
};

static void publication_ack(struct publication *publication) {
    if (atomic_fetch_sub(&publication->missing, 1) != 1) return;
    publication->acked(publication->arg);
    config_unref(publication->config);
    free(publication);
}

static void publication_adopt(struct worker *worker, void *arg) {
    struct publication *publication = arg;

    worker_adopt(worker, publication->config);
    publication_ack(publication);
}

void crew_publish(void *arg, struct config *config, void (*acked)(void *acked_arg), void *acked_arg) {
    const struct crew *crew = arg;
    struct publication *publication = xcalloc(1, sizeof *publication);

    publication->config = config_ref(config);
    publication->acked = acked;
    publication->arg = acked_arg;
    atomic_init(&publication->missing, (unsigned)crew->count + 1);
    for (size_t i = 0; i < crew->count; i++)
        worker_post(crew->workers[i], publication_adopt, publication);
    publication_ack(publication);
}

void *crew_caller(void *arg) {
    (void)arg;
    return worker_current();
}

/* --- an errand --- */

struct errand {
    void (*run)(void *arg);
    void *arg;
};

static void run_errand(struct worker *worker, void *arg) {
    struct errand *errand = arg;

    (void)worker;
    errand->run(errand->arg);
    free(errand);
}

void crew_post(void *arg, void *worker, void (*run)(void *run_arg), void *run_arg) {
    struct errand *errand = xmalloc(sizeof *errand);

    (void)arg;
    *errand = (struct errand){run, run_arg};
    worker_post(worker, run_errand, errand);
}

void crew_counted(void *arg, unsigned instances) {
    const struct crew *crew = arg;

    local_limiter_share(crew->local, instances);
}

/* --- a task --- */

/* A task on its way through all workers, and back to the one who sent it. */
struct round {
    struct services_task task;
    struct worker *caller;
    atomic_uint missing;
};

static void end_round(struct worker *worker, void *arg) {
    struct round *round = arg;

    (void)worker;
    if (round->task.done) round->task.done(round->task.arg);
    free(round);
}

static void run_task(struct worker *worker, void *arg) {
    struct round *round = arg;

    round->task.run(worker_services(worker), round->task.arg);
    if (atomic_fetch_sub(&round->missing, 1) == 1) worker_post(round->caller, end_round, round);
}

void crew_everywhere(void *arg, const struct services_task *task) {
    const struct crew *crew = arg;
    struct round *round = xcalloc(1, sizeof *round);

    round->task = *task;
    round->caller = worker_current();
    atomic_init(&round->missing, (unsigned)crew->count);
    for (size_t i = 0; i < crew->count; i++)
        worker_post(crew->workers[i], run_task, round);
}
