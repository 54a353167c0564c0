/* GET /lab/events: what one worker tells its listeners, five times a second while there are any anywhere in
 * the process: counts of all decisions, the configuration's version, how Redis is. One thread. */
#ifndef RL_HTTP_EVENTS_H
#define RL_HTTP_EVENTS_H

struct ev_loop;
struct events;
struct services;

/* `services` outlives it. */
struct events *events_new(struct ev_loop *loop, const struct services *services);
/* After the worker's streams and Redis link are gone. */
void events_free(struct events *events);

/* Somebody listens now: begin to pass on what this worker counts. */
void events_wake(struct events *events);

#endif
