/* Parameters that more than one algorithm has, as initializers of struct param: the same names and bounds
 * wherever they occur, in words of the algorithm's own. */
#ifndef RL_LIMIT_PARAM_KINDS_H
#define RL_LIMIT_PARAM_KINDS_H

#include "base/decimal.h"
#include "limit/algorithm.h"

#define SIZE_PARAM(name_, title_, unit_, most, words)                                                        \
    {                                                                                                        \
        .name = (name_), .title = (title_), .unit = (unit_), .summary = (words), .min = 1 * MICRO,           \
        .max = (most)*MICRO, .fallback = 10 * MICRO, .whole = true                                           \
    }

#define CAPACITY_PARAM(unit_, words) SIZE_PARAM("capacity", "Capacity", unit_, 1000000000, words)

#define LIMIT_PARAM(most, words) SIZE_PARAM("limit", "Limit", "requests per window", most, words)

#define RATE_PARAM(name_, title_, unit_, words)                                                              \
    {                                                                                                        \
        .name = (name_), .title = (title_), .unit = (unit_), .summary = (words), .min = 1,                   \
        .max = 1000000000 * MICRO, .fallback = 1 * MICRO, .rate = true                                       \
    }

#define SECONDS_PARAM(name_, title_, usual, words)                                                           \
    {                                                                                                        \
        .name = (name_), .title = (title_), .unit = "seconds", .summary = (words), .min = MICRO / 1000,      \
        .max = 31536000 * MICRO, .fallback = (usual)*MICRO                                                   \
    }

#define WINDOW_PARAM(words) SECONDS_PARAM("window", "Window", 10, words)

#endif
