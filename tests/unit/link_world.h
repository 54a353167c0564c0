/* A loop with one redis_link on it, and a record of what it answered: the ground on which the link's tests
 * stand. */
#ifndef RL_TESTS_LINK_WORLD_H
#define RL_TESTS_LINK_WORLD_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "redis/redis_link.h"

enum { ASKED_MAX = 4096 };

struct asked { /* one command and its answer */
    struct world *world;
    int answers; /* exactly 1 in the end */
    enum redis_status status;
    int64_t sent_us, answered_us;
    int64_t number; /* the count in the script's reply, or an integer reply */
    char error[128];
};

struct world {
    struct ev_loop *loop;
    struct ev_prepare flush;
    struct ev_timer tick;
    struct redis_settings settings;
    struct redis_link *link;
    int up, down; /* how often `changed` said so */
    char why[256];
    struct asked asked[ASKED_MAX];
    int count, answered;
};

/* The script that the world's link loads: counts at a key, replies with its argument and the count. */
extern struct redis_script counting_script;

struct world *world_new(const char *socket_path, const char *host, int port);
void world_open(struct world *world); /* makes the link, by world->settings */
void world_free(struct world *world); /* checks that each command was answered exactly once */

struct asked *world_eval(struct world *world, const char *key); /* the counting script */
struct asked *world_ask(struct world *world, const char *first, const char *second, const char *third);

void world_turn(struct world *world, int milliseconds); /* runs the loop for so long */
bool world_until_state(struct world *world, enum redis_state state, int limit_ms);
bool world_until_answered(struct world *world, int limit_ms); /* all that was asked */
bool world_until_why(struct world *world, const char *part, int limit_ms);

#endif
