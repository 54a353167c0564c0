/* Counting values by size: a table of upper bounds, a count for each and one above them. One thread writes.
 *
 * Knows no units and no format. */
#ifndef RL_BASE_HISTOGRAM_H
#define RL_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_BOUNDS_MAX = 16 };

struct histogram_scale { /* static; bounds rise */
    size_t count;
    int64_t bounds[HISTOGRAM_BOUNDS_MAX];
};

extern const struct histogram_scale histogram_times; /* microseconds, from 50 us to 5 s */
extern const struct histogram_scale histogram_sizes; /* 1, 2, 4 ... 1024 */

struct histogram { /* all zero but the scale at first */
    const struct histogram_scale *scale;
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* above the bound before, up to and with this one */
    int64_t sum;
};

void histogram_add(struct histogram *histogram, int64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from); /* of the same scale */
uint64_t histogram_total(const struct histogram *histogram);

#endif
