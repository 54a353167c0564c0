/* All workers of the process: what one thread asks of the others goes through their mailboxes. Starts and
 * stops none of them (server.c).
 *
 * The functions have the forms of struct config_host and struct services; their first argument is the crew.
 */
#ifndef RL_APP_CREW_H
#define RL_APP_CREW_H

#include <stddef.h>

#include "app/worker.h"

struct crew {
    struct worker **workers;
    size_t count;
    struct local_limiter *local; /* shared by them */
};

/* Puts a snapshot into force on all workers, then calls `acked` on the thread of the last. Any thread. */
void crew_publish(void *crew, struct config *config, void (*acked)(void *acked_arg), void *acked_arg);

/* The worker whose thread this is, and running something on it later. Any thread. */
void *crew_caller(void *crew);
void crew_post(void *crew, void *worker, void (*run)(void *run_arg), void *run_arg);

/* So many instances share the limits while Redis is away. */
void crew_counted(void *crew, unsigned instances);

/* Runs a task on each worker, and its end on the one that calls. */
void crew_everywhere(void *crew, const struct services_task *task);

#endif
