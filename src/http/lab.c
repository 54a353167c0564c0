/* The board and the places of /lab. Decides nothing about requests. */
#include "http/lab.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/xmalloc.h"

enum { SAMPLES_KEPT = 256 }; /* of all workers, a power of two */

struct board_row { /* one policy, whatever its algorithm was */
    char policy[POLICY_NAME_MAX + 1];
    uint64_t counts[COUNT_ORIGINS][COUNTED_KINDS];
};

struct lab {
    atomic_uint listeners, runs;
    pthread_mutex_t lock;
    struct board_row *rows; /* only ever appended to, so that an index stays what it is */
    size_t count, capacity;
    struct sample samples[SAMPLES_KEPT];
    uint64_t sample_count; /* ever */
};

struct lab *lab_new(void) {
    struct lab *lab = xcalloc(1, sizeof *lab);

    pthread_mutex_init(&lab->lock, NULL);
    return lab;
}

void lab_free(struct lab *lab) {
    if (!lab) return;
    pthread_mutex_destroy(&lab->lock);
    free(lab->rows);
    free(lab);
}

/* --- places --- */

static bool enter(atomic_uint *taken, unsigned max, unsigned *before) {
    unsigned now = atomic_load(taken);

    do {
        if (now >= max) return false;
    } while (!atomic_compare_exchange_weak(taken, &now, now + 1));
    *before = now;
    return true;
}

bool lab_listener_enter(struct lab *lab, bool *first) {
    unsigned before;
    bool entered = enter(&lab->listeners, LAB_LISTENERS_MAX, &before);

    *first = entered && before == 0;
    return entered;
}

void lab_listener_leave(struct lab *lab) {
    atomic_fetch_sub(&lab->listeners, 1);
}

bool lab_listened(const struct lab *lab) {
    return atomic_load(&lab->listeners) > 0;
}

bool lab_run_enter(struct lab *lab) {
    unsigned before;

    return enter(&lab->runs, LAB_RUNS_MAX, &before);
}

void lab_run_leave(struct lab *lab) {
    atomic_fetch_sub(&lab->runs, 1);
}

/* --- adding --- */

static struct board_row *board_row(struct lab *lab, const char *policy) {
    for (size_t i = 0; i < lab->count; i++)
        if (strcmp(lab->rows[i].policy, policy) == 0) return &lab->rows[i];
    if (lab->count == lab->capacity) {
        lab->capacity = lab->capacity ? 2 * lab->capacity : 16;
        lab->rows = xrealloc(lab->rows, lab->capacity * sizeof *lab->rows);
    }
    struct board_row *row = &lab->rows[lab->count++];
    memset(row, 0, sizeof *row);
    snprintf(row->policy, sizeof row->policy, "%s", policy);
    return row;
}

static void add_row(struct lab *lab, struct counter_row *from) {
    if (memcmp(from->counts, from->told, sizeof from->counts) == 0) return;
    struct board_row *row = board_row(lab, from->policy);
    for (size_t origin = 0; origin < COUNT_ORIGINS; origin++)
        for (size_t kind = 0; kind < COUNTED_KINDS; kind++)
            row->counts[origin][kind] += from->counts[origin][kind] - from->told[origin][kind];
    memcpy(from->told, from->counts, sizeof from->told);
}

void lab_board_add(struct lab *lab, struct counters *counters) {
    struct sample sample[SAMPLE_MAX];
    size_t row_count, sample_count = counters_take_sample(counters, sample);
    struct counter_row *const *rows = counters_rows(counters, &row_count);

    pthread_mutex_lock(&lab->lock);
    for (size_t i = 0; i < row_count; i++)
        add_row(lab, rows[i]);
    for (size_t i = 0; i < sample_count; i++)
        lab->samples[lab->sample_count++ % SAMPLES_KEPT] = sample[i];
    pthread_mutex_unlock(&lab->lock);
}

/* --- reading --- */

void lab_cursor_free(struct lab_cursor *cursor) {
    free(cursor->counts);
    *cursor = (struct lab_cursor){.counts = NULL};
}

/* Rows that are new to the cursor begin at 0, as they did on the board. */
static void cursor_grow(struct lab_cursor *cursor, size_t rows) {
    if (rows <= cursor->rows) return;
    cursor->counts = xrealloc(cursor->counts, rows * sizeof *cursor->counts);
    memset(cursor->counts + cursor->rows, 0, (rows - cursor->rows) * sizeof *cursor->counts);
    cursor->rows = rows;
}

static void cursor_move(struct lab_cursor *cursor, const struct lab *lab) {
    for (size_t i = 0; i < lab->count; i++)
        memcpy(cursor->counts[i], lab->rows[i].counts, sizeof cursor->counts[i]);
    cursor->samples = lab->sample_count;
}

void lab_board_skip(struct lab *lab, struct lab_cursor *cursor) {
    pthread_mutex_lock(&lab->lock);
    cursor_grow(cursor, lab->count);
    cursor_move(cursor, lab);
    pthread_mutex_unlock(&lab->lock);
}

static void write_counts(struct json_out *json, const char *member, const struct lab *lab,
                         const struct lab_cursor *cursor, enum count_origin origin) {
    json_object(json, member);
    for (size_t i = 0; i < lab->count; i++) {
        const uint64_t *now = lab->rows[i].counts[origin], *before = cursor->counts[i][origin];
        if (memcmp(now, before, COUNTED_KINDS * sizeof *now) == 0) continue;
        json_object(json, lab->rows[i].policy);
        for (int kind = 0; kind < COUNTED_KINDS; kind++)
            json_int(json, counted_name((enum counted)kind), (int64_t)(now[kind] - before[kind]));
        json_end(json);
    }
    json_end(json);
}

static void write_sample(struct json_out *json, const struct sample *sample) {
    json_object(json, NULL);
    json_int(json, "time", sample->wall_us / 1000);
    json_str(json, "policy", sample->policy);
    json_str(json, "key", sample->key);
    json_str(json, "outcome", counted_name(sample->outcome));
    if (sample->remaining < 0)
        json_null(json, "remaining");
    else
        json_int(json, "remaining", sample->remaining);
    json_seconds_ms(json, "wait", sample->wait_us);
    json_str(json, "source", decision_source_name(sample->source));
    json_end(json);
}

/* Of the samples that are new, SAMPLE_MAX at most, evenly spaced. */
static void write_samples(struct json_out *json, const struct lab *lab, const struct lab_cursor *cursor) {
    uint64_t fresh = lab->sample_count - cursor->samples;

    if (fresh > SAMPLES_KEPT) fresh = SAMPLES_KEPT;
    uint64_t start = lab->sample_count - fresh, shown = fresh < SAMPLE_MAX ? fresh : SAMPLE_MAX;
    json_array(json, "sample");
    for (uint64_t i = 0; i < shown; i++)
        write_sample(json, &lab->samples[(start + i * fresh / shown) % SAMPLES_KEPT]);
    json_end(json);
}

void lab_board_read(struct lab *lab, struct lab_cursor *cursor, struct buf *out) {
    struct json_out json;

    json_begin(&json, out);
    json_object(&json, NULL);
    pthread_mutex_lock(&lab->lock);
    cursor_grow(cursor, lab->count);
    write_counts(&json, "policies", lab, cursor, FROM_CLIENTS);
    write_counts(&json, "runs", lab, cursor, FROM_RUNS);
    write_samples(&json, lab, cursor);
    cursor_move(cursor, lab);
    pthread_mutex_unlock(&lab->lock);
    json_end(&json);
}
