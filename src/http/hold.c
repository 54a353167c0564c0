/* Answers that wait for their turn: a timer each. Knows no requests; what is done when it is time is the
 * caller's. */
#include "http/hold.h"

#include <ev.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/xmalloc.h"

struct held {
    LIST_ENTRY(held) next;
    ev_timer timer;
    struct hold *hold;
    hold_done *done;
    void *arg;
};

struct hold {
    struct ev_loop *loop;
    size_t places; /* not taken */
    bool stopped;
    LIST_HEAD(, held) held;
};

struct hold *hold_new(struct ev_loop *loop, size_t max) {
    struct hold *hold = xcalloc(1, sizeof *hold);
    hold->loop = loop;
    hold->places = max;
    LIST_INIT(&hold->held);
    return hold;
}

void hold_free(struct hold *hold) {
    if (!hold) return;
    hold_stop(hold);
    free(hold);
}

bool hold_reserve(struct hold *hold) {
    if (hold->stopped || hold->places == 0) return false;
    hold->places--;
    return true;
}

void hold_release(struct hold *hold) {
    hold->places++;
}

static void end(struct held *held, bool due) {
    struct hold *hold = held->hold;
    hold_done *done = held->done;
    void *arg = held->arg;
    ev_timer_stop(hold->loop, &held->timer);
    LIST_REMOVE(held, next);
    free(held);
    hold_release(hold);
    done(arg, due);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events) {
    (void)loop, (void)events;
    end(watcher->data, true);
}

void hold_until(struct hold *hold, int64_t us, hold_done *done, void *arg) {
    struct held *held = xcalloc(1, sizeof *held);
    held->hold = hold;
    held->done = done;
    held->arg = arg;
    held->timer.data = held;
    ev_timer_init(&held->timer, on_timer, (double)us / 1e6, 0.0);
    LIST_INSERT_HEAD(&hold->held, held, next);
    if (hold->stopped) {
        end(held, false);
        return;
    }
    ev_now_update(hold->loop); /* the loop's time is that of its last wake-up: a turn must not come early */
    ev_timer_start(hold->loop, &held->timer);
}

void hold_stop(struct hold *hold) {
    hold->stopped = true; /* so that no end begins another wait */
    for (struct held *held = LIST_FIRST(&hold->held), *next; held; held = next) {
        next = LIST_NEXT(held, next);
        end(held, false);
    }
}
