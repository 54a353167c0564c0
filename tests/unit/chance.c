/* Random numbers by splitmix64: quick, and enough for tests. */
#include "unit/chance.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

uint64_t chance_seed;
static uint64_t state;

void chance_from(uint64_t seed) {
    chance_seed = state = seed;
}

void chance_begin(void) {
    const char *given = getenv("SEED");
    chance_from(given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid());
    printf("SEED=%llu\n", (unsigned long long)chance_seed);
    fflush(stdout);
}

int64_t between(int64_t low, int64_t high) {
    uint64_t bits = (state += 0x9e3779b97f4a7c15u);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return low + (int64_t)((bits ^ (bits >> 31)) % (uint64_t)(high - low + 1));
}

bool one_in(int64_t count) {
    return between(1, count) == 1;
}

int64_t spread(int64_t low, int64_t high) {
    int64_t top = low;
    while (top < high / 10 && !one_in(6))
        top *= 10;
    return between(low, top < high / 10 ? top * 10 : high);
}
