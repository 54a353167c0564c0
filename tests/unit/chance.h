/* Chance for tests with random histories: the same again for the same seed, which is printed. */
#ifndef RL_TESTS_CHANCE_H
#define RL_TESTS_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

extern uint64_t chance_seed; /* what it began from, for words about a failure */

void chance_begin(void); /* from the environment's SEED, else from clock and process; prints it */
void chance_from(uint64_t seed);

int64_t between(int64_t low, int64_t high); /* both included */
bool one_in(int64_t count);
int64_t spread(int64_t low, int64_t high); /* each order of magnitude as likely as another */

#endif
