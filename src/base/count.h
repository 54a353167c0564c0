/* How many elements an array has. Not for pointers. */
#ifndef RL_BASE_COUNT_H
#define RL_BASE_COUNT_H

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
