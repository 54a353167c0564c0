/* Answers that wait for their turn (on_limit "delay"), without a thread: one a worker, on its loop.
 *
 * A place is reserved before the decision is asked for, so that nobody is given a turn and then finds no
 * place. What is held ends exactly once. One thread. */
#ifndef RL_HTTP_HOLD_H
#define RL_HTTP_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ev_loop;
struct hold;

/* Each resume of a connection looks at all that are suspended: more than this costs everybody. */
enum { HOLD_MAX = 1000 };

struct hold *hold_new(struct ev_loop *loop, size_t max);
void hold_free(struct hold *hold); /* stops it first; NULL is fine */

/* Takes a place. False when all are taken, or when it has been stopped. */
bool hold_reserve(struct hold *hold);
void hold_release(struct hold *hold); /* gives a reserved place back unused */

/* Uses a reserved place: calls done(arg, true) in `us` microseconds, or done(arg, false) when it is stopped
 * before that (at once if it has been). */
typedef void hold_done(void *arg, bool due);
void hold_until(struct hold *hold, int64_t us, hold_done *done, void *arg);

/* Ends all that is held, and from now on holds nothing. */
void hold_stop(struct hold *hold);

#endif
