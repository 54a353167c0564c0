/* The two clocks. Read only at the edges (workers, limiter, log): arithmetic takes time as a parameter. */
#ifndef RL_BASE_CLOCK_H
#define RL_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_wall_us(void); /* microseconds since the epoch; may step */
int64_t clock_mono_us(void); /* microseconds since an arbitrary start; never steps */

#endif
