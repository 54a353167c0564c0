/* Fires a run: so many at once, each at its time, as the plan says. What is told of it: lab_run_lines.c.
 *
 * A change of settings takes hold of a run as it does of all traffic. */
#include "http/lab_run.h"

#include <ev.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/xmalloc.h"
#include "http/counters.h"
#include "http/lab.h"
#include "http/lab_run_lines.h"
#include "http/lab_run_look.h"
#include "http/respond.h"
#include "http/services.h"
#include "limit/fixed_window.h"
#include "limit/key_admin.h"
#include "limit/run_compare.h"

enum {
    SHOTS_MAX = 256,     /* asked for and not yet decided */
    SHOTS_A_TURN = 512,  /* then others have their turn */
    LINE_US = 40000,     /* decisions wait no longer to be told */
    SILENCE_US = 400000, /* after which an empty line shows whether the reader is still there */
    LATE_US = 1000000,   /* what was planned longer ago is not sent any more */
    WAITING_MAX = 4 * 1024 * 1024
};

/* One request on its way. */
struct shot {
    struct run *run;
    struct shot *spare;
    struct config *config; /* referenced; NULL for compared policies */
    const struct policy *policy;
    size_t number; /* of the run's */
};

enum phase { LOOKING, FIRING, OVER };

struct run {
    const struct services *services;
    struct stream *stream; /* NULL: its reader has left */
    enum phase phase;
    struct run_start start;
    struct config *config; /* whose policy is fired at; referenced */
    struct policy *compared;
    struct run_row rows[RUN_COMPARED];
    struct run_told told;
    struct run_totals totals;
    struct run_look *look; /* NULL until it is there */
    int64_t started_us;    /* monotonic */
    int64_t redis_base_us; /* Redis's clock then */
    size_t next, total;    /* numbers: of each request one a row */
    unsigned outstanding;
    struct shot shots[SHOTS_MAX], *spare;
    bool pumping;
    ev_timer timer;
    struct run_lines lines;
    int64_t line_us, written_us; /* since when a decision waits to be told; when something last was */
};

void run_keys_free(struct run_keys *keys) {
    for (size_t i = 0; i < keys->count; i++)
        free(keys->text[i]);
    keys->count = 0;
}

/* --- its end --- */

static void on_forgotten(void *arg, int64_t removed, const char *why) {
    (void)arg, (void)removed, (void)why; /* what stays has a TTL */
}

/* Compared policies leave nothing behind. What is on its way reaches Redis before this does. */
static void forget_compared(struct run *run) {
    const struct run_keys *keys = &run->start.keys;

    if (!run->compared) return;
    for (size_t row = 0; row < RUN_COMPARED; row++)
        for (size_t i = 0; i < keys->count; i++)
            key_admin_forget(run->services->keys, &run->compared[row], keys->text[i], keys->len[i],
                             on_forgotten, NULL);
}

/* Fires no more. The worker's link to Redis is still there. */
static void be_over(struct run *run) {
    if (run->phase == OVER) return;
    run->phase = OVER;
    ev_timer_stop(run->services->loop, &run->timer);
    forget_compared(run);
}

static void run_free(struct run *run) {
    lab_run_leave(run->services->lab);
    for (size_t i = 0; i < run->told.row_count; i++)
        run_tally_free(&run->rows[i].tally);
    run_lines_free(&run->lines);
    run_plan_free(&run->start.plan);
    config_unref(run->config);
    free(run->compared);
    run_look_free(run->look);
    run_keys_free(&run->start.keys);
    free(run);
}

static void write_out(struct run *run, struct buf *text) {
    if (run->stream && !request_stream_write(run->stream, buf_str(text), text->len))
        request_stream_end(run->stream); /* its reader takes nothing any more */
    run->written_us = clock_mono_us();
    buf_free(text);
}

static void tell_decisions(struct run *run) {
    struct buf text = BUF_INIT(WAITING_MAX);

    run_lines_take(&run->lines, &text);
    write_out(run, &text);
}

static void finish(struct run *run) {
    struct buf text = BUF_INIT(WAITING_MAX);

    be_over(run);
    if (!run->stream) return;
    if (run->lines.count > 0) tell_decisions(run);
    run_lines_last(&run->told, &run->totals, &text);
    write_out(run, &text);
    request_stream_end(run->stream);
}

/* Fires no more; what is on its way is still told, if anybody listens. */
static void stop(struct run *run, const char *why) {
    if (run->phase == OVER || run->totals.stopped) return;
    run->totals.stopped = why;
    if (run->outstanding == 0) finish(run);
}

static void on_closed(void *arg) {
    struct run *run = arg;

    be_over(run);
    run->stream = NULL;
    if (run->outstanding == 0) run_free(run);
}

static void on_drain(void *arg) {
    stop(arg, "The server is stopping.");
}

/* --- firing --- */

static struct shot *shot_new(struct run *run, const struct policy *policy, struct config *config,
                             size_t number) {
    struct shot *shot = run->spare;

    run->spare = shot->spare;
    run->outstanding++;
    shot->config = config ? config_ref(config) : NULL;
    shot->policy = policy;
    shot->number = number;
    return shot;
}

/* The run may be gone when this returns false. */
static bool shot_end(struct run *run, struct shot *shot) {
    config_unref(shot->config);
    shot->spare = run->spare;
    run->spare = shot;
    run->outstanding--;
    if (run->stream || run->outstanding > 0) return true;
    run_free(run);
    return false;
}

/* When a decision was made, since the start, by Redis's clock if that is known. */
static int64_t decided_at(const struct run *run, const struct decision *decision) {
    int64_t at_us = clock_mono_us() - run->started_us;

    if (run->look->answered && decision->source == SOURCE_REDIS && decision->now_us)
        at_us = decision->now_us - run->redis_base_us;
    return at_us > 0 ? at_us : 0;
}

/* The window has been opened by the first request: now it is known when it ends. */
static void aim_again(struct run *run, int64_t at_us) {
    const struct limit_settings *limit = &run->start.policy->limits[0];

    if (limit->algorithm == &fixed_window && run->look->first.count &&
        run->look->first.limits[0].remaining == limit_units(limit))
        run_plan_aim(&run->start.plan, at_us + limit->algorithm->window_us(limit->params));
}

static void pump(struct run *run);

static void on_shot(void *arg, const struct decision *decision) {
    struct shot *shot = arg;
    struct run *run = shot->run;
    size_t row = shot->number % run->told.row_count, index = shot->number / run->told.row_count;
    int64_t at_us = decided_at(run, decision);
    unsigned client = run->start.plan.client[index];

    run_tally_add(&run->rows[row].tally, decision, at_us, run->start.keys.of_client[client]);
    run->totals.took_us = clock_mono_us() - run->started_us;
    if (shot->config) counters_add(run->services->counters, FROM_RUNS, shot->config, shot->policy, decision);
    if (run->stream) {
        if (run->lines.count == 0) run->line_us = clock_mono_us();
        run_lines_add(&run->lines, at_us, client, row, decision);
    }
    if (index == 0 && run->start.plan.order.scenario == RUN_WINDOW_EDGE) aim_again(run, at_us);
    if (shot_end(run, shot)) pump(run);
}

static void fire(struct run *run) {
    size_t row = run->next % run->told.row_count, index = run->next / run->told.row_count;
    unsigned key = run->start.keys.of_client[run->start.plan.client[index]];
    const struct policy *policy = run->rows[row].policy;
    struct shot *shot = shot_new(run, policy, run->compared ? NULL : run->config, run->next);

    run->next++;
    run->totals.sent++;
    limiter_decide(run->services->limiter, policy, run->start.keys.text[key], run->start.keys.len[key],
                   policy->cost, LIMITER_TAKE, on_shot, shot);
}

/* The settings that hold now. False if the policy is gone. */
static bool follow_config(struct run *run) {
    struct config *now = *run->services->config;
    const struct policy *policy;

    if (run->compared || now == run->config) return true;
    policy = config_policy(now, run->told.policy, strlen(run->told.policy));
    if (!policy) return false;
    config_ref(now);
    config_unref(run->config);
    run->config = now;
    run->told.policy = policy->name;
    run->start.policy = run->rows[0].policy = policy;
    return true;
}

static int64_t due_us(const struct run *run) {
    return run->started_us + run->start.plan.at_us[run->next / run->told.row_count];
}

static void drop(struct run *run, size_t count) {
    run->next += count;
    run->totals.dropped += count;
}

/* Fires what is due. */
static void fire_due(struct run *run) {
    for (int i = 0; i < SHOTS_A_TURN && run->next < run->total && run->spare; i++) {
        int64_t now_us = clock_mono_us();
        if (due_us(run) > now_us) return;
        if (now_us - run->started_us > (RUN_SECONDS_MAX + 1) * MICRO)
            drop(run, run->total - run->next);
        else if (run->start.plan.order.rate > 0 && now_us - due_us(run) > LATE_US)
            drop(run, 1);
        else
            fire(run);
    }
}

/* Sleeps until the next is due, or something is to be told. */
static void arm(struct run *run) {
    int64_t now_us = clock_mono_us();
    int64_t at_us = run->lines.count > 0 ? run->line_us + LINE_US : run->written_us + SILENCE_US;

    if (run->next < run->total && run->spare && !run->totals.stopped && due_us(run) < at_us)
        at_us = due_us(run);
    ev_timer_stop(run->services->loop, &run->timer);
    ev_timer_set(&run->timer, at_us > now_us ? (double)(at_us - now_us) / 1e6 : 0., 0.);
    ev_now_update(run->services->loop);
    ev_timer_start(run->services->loop, &run->timer);
}

static void pump(struct run *run) {
    if (run->phase != FIRING || run->pumping) return;
    run->pumping = true;
    if (!run->totals.stopped) {
        if (follow_config(run))
            fire_due(run);
        else
            run->totals.stopped = "The policy is gone.";
    }
    run->pumping = false;
    if (run->outstanding == 0 && (run->next == run->total || run->totals.stopped)) {
        finish(run);
        return;
    }
    int64_t now_us = clock_mono_us();
    bool line_due = run->lines.count > 0 && now_us - run->line_us >= LINE_US;
    if (line_due || now_us - run->written_us >= SILENCE_US) tell_decisions(run);
    arm(run);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents) {
    (void)loop, (void)revents;
    pump(timer->data);
}

/* --- before it --- */

/* Why there is no prediction; NULL if there is one. */
static const char *unforetold(const struct run *run) {
    if (!run->look->answered) return "Redis does not answer, so its state is not known.";
    if (*run->look->why) return run->look->why;
    if (!run->look->whole) return "What the clients of this run have used already is too much to read.";
    return NULL;
}

static void predict(struct run *run) {
    const struct run_states states = {run->start.keys.count, run->start.keys.of_client, run->look->states};

    run->told.unforetold = unforetold(run);
    if (run->told.unforetold) return;
    for (size_t i = 0; i < run->told.row_count; i++) {
        run_predict(&run->start.plan, run->rows[i].policy, &states, run->redis_base_us,
                    &run->rows[i].prediction);
        run->rows[i].foretold = true;
    }
}

/* The start is now. Redis's clock is taken to stand where it stood when it answered the look: a little
 * behind, so that what is aimed behind an edge never comes before it. */
static void set_start(struct run *run) {
    struct run_plan *plan = &run->start.plan;
    const struct run_look *look = run->look;

    run->started_us = clock_mono_us();
    run->redis_base_us =
        look->answered ? look->first.now_us + run->started_us - look->answered_us : clock_wall_us();
    if (plan->order.scenario == RUN_WINDOW_EDGE) {
        const struct limit_state *limit = look->first.count ? &look->first.limits[0] : NULL;
        run_plan_aim(plan, run_plan_edge(run->start.policy, limit, run->redis_base_us));
    }
}

static void set_off(struct run *run) {
    struct buf text = BUF_INIT(WAITING_MAX);

    run->phase = FIRING;
    set_start(run);
    predict(run);
    set_start(run); /* predicting took a moment */
    run->told.redis_us = run->look->answered ? run->redis_base_us : 0;
    run_lines_first(&run->told, &text);
    write_out(run, &text);
    pump(run);
}

static void on_looked(void *arg, struct run_look *look) {
    struct run *run = arg;

    run->look = look;
    run->outstanding--;
    if (!run->stream)
        run_free(run);
    else if (run->totals.stopped)
        finish(run);
    else
        set_off(run);
}

static void set_rows(struct run *run) {
    run->told.row_count = 1;
    run->rows[0].policy = run->start.policy;
    if (run->start.plan.order.scenario == RUN_COMPARE) {
        run->told.row_count = RUN_COMPARED;
        run->compared = xcalloc(RUN_COMPARED, sizeof *run->compared);
        run_compare_policies(run->start.policy, run->compared);
        for (size_t i = 0; i < RUN_COMPARED; i++)
            run->rows[i].policy = &run->compared[i];
    }
    run->total = run->start.plan.count * run->told.row_count;
    run->told.rows = run->rows;
    run->told.policy = run->start.policy->name;
    run->told.user = run->start.user;
    run->told.plan = &run->start.plan;
    run->told.config_version = run->config->version;
}

void lab_run_begin(struct request *request, struct run_start *start) {
    static const struct stream_events events = {on_closed, on_drain};
    struct run *run = xcalloc(1, sizeof *run);

    run->services = request->services;
    run->start = *start;
    run->config = config_ref(request->config);
    for (size_t i = 0; i < SHOTS_MAX; i++) {
        run->shots[i] = (struct shot){.run = run, .spare = run->spare};
        run->spare = &run->shots[i];
    }
    ev_timer_init(&run->timer, on_timer, 0., 0.);
    run->timer.data = run;
    set_rows(run);
    run_lines_init(&run->lines, run->compared != NULL);
    respond_security_headers(request);
    request_reply_header(request, "Cache-Control", "no-store");
    run->stream = request_stream_begin(request, 200, "application/x-ndjson", WAITING_MAX, &events, run);
    run->outstanding++;
    run_look_begin(run->services, run->rows[0].policy, &run->start.keys, run->compared != NULL, on_looked,
                   run);
}
