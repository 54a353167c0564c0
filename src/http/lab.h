/* What all workers of this process share for the page's endpoints (/lab): how many streams are open, and a
 * board of what was decided lately, to which each worker adds and from which listeners are told.
 *
 * Knows no HTTP and no worker. Any thread; a mutex guards the board, which is touched five times a second. */
#ifndef RL_HTTP_LAB_H
#define RL_HTTP_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/counters.h"

enum { LAB_LISTENERS_MAX = 32, LAB_RUNS_MAX = 2 };

struct lab;

struct lab *lab_new(void);
void lab_free(struct lab *lab);

/* Takes a place among the listeners (or runs); false if all are taken. `*first` tells that nobody listened
 * before. */
bool lab_listener_enter(struct lab *lab, bool *first);
void lab_listener_leave(struct lab *lab);
bool lab_listened(const struct lab *lab); /* does anybody? */
bool lab_run_enter(struct lab *lab);
void lab_run_leave(struct lab *lab);

/* Adds what the worker has counted since it last did (row->told), and its sample. */
void lab_board_add(struct lab *lab, struct counters *counters);

/* How far a reader has read. Zeroed at first; lab_cursor_free at the end. */
struct lab_cursor {
    size_t rows;
    uint64_t (*counts)[COUNT_ORIGINS][COUNTED_KINDS];
    uint64_t samples;
};
void lab_cursor_free(struct lab_cursor *cursor);

/* Sets the cursor to the newest. */
void lab_board_skip(struct lab *lab, struct lab_cursor *cursor);

/* Appends what happened since the cursor, and moves it: {"policies":{NAME:{"allowed":1,...}},
 * "runs":{...},"sample":[...]}. */
void lab_board_read(struct lab *lab, struct lab_cursor *cursor, struct buf *out);

#endif
