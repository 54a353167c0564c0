/* Two scales, and counting by them. It keeps no values. */
#include "base/histogram.h"

const struct histogram_scale histogram_times = {.count = 15,
                                                .bounds = {50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000,
                                                           50000, 100000, 250000, 500000, 1000000, 5000000}};

const struct histogram_scale histogram_sizes = {.count = 11,
                                                .bounds = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}};

void histogram_add(struct histogram *histogram, int64_t value) {
    const struct histogram_scale *scale = histogram->scale;
    size_t at = 0;

    while (at < scale->count && value > scale->bounds[at])
        at++;
    histogram->counts[at]++;
    histogram->sum += value;
}

void histogram_merge(struct histogram *into, const struct histogram *from) {
    for (size_t i = 0; i <= from->scale->count; i++)
        into->counts[i] += from->counts[i];
    into->sum += from->sum;
}

uint64_t histogram_total(const struct histogram *histogram) {
    uint64_t total = 0;

    for (size_t i = 0; i <= histogram->scale->count; i++)
        total += histogram->counts[i];
    return total;
}
