/* The text format of Prometheus (0.0.4): families, labels and their escapes. Knows no metric. */
#ifndef RL_HTTP_EXPOSITION_H
#define RL_HTTP_EXPOSITION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/histogram.h"

/* "# HELP" and "# TYPE" of a family; its samples follow. `type`: "counter", "gauge" or "histogram". */
void exposition_family(struct buf *out, const char *name, const char *type, const char *help);

struct label {
    const char *name, *value;
};

/* One sample with `count` labels. */
void exposition_sample(struct buf *out, const char *name, const struct label *labels, size_t count,
                       double value);

/* A family of one sample without labels. */
void exposition_single(struct buf *out, const char *name, const char *type, const char *help, double value);

/* A whole histogram; its values are divided by `unit` (1000000: microseconds become seconds). */
void exposition_histogram(struct buf *out, const char *name, const char *help,
                          const struct histogram *histogram, double unit);

#endif
