/* The scripts that decide: one an algorithm, and one for several limits. Sends none. */
#include "limit/decide_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limit/lua_scripts.h"

enum { SCRIPTS_MAX = 32 };

static struct redis_script scripts[SCRIPTS_MAX];
static const struct redis_script *all[SCRIPTS_MAX];

const struct redis_script *const *decide_scripts(size_t *count) {
    *count = lua_script_count;
    return all;
}

/* NULL: for several limits. */
static size_t find(const char *algorithm) {
    for (size_t i = 0; i < lua_script_count; i++) {
        const char *name = lua_scripts[i].algorithm;
        if (algorithm == NULL ? name == NULL : name && strcmp(name, algorithm) == 0) return i;
    }
    fprintf(stderr, "no script decides by %s\n", algorithm ? algorithm : "several limits");
    exit(1);
}

/* Where the script of each algorithm of the table is, and behind them that for several limits. */
static size_t place[SCRIPTS_MAX];

void decide_scripts_init(void) {
    if (lua_script_count > SCRIPTS_MAX || algorithm_count >= SCRIPTS_MAX) {
        fprintf(stderr, "too many algorithms: make SCRIPTS_MAX larger\n");
        exit(1);
    }
    for (size_t i = 0; i < lua_script_count; i++) {
        const char *name = lua_scripts[i].algorithm;
        scripts[i] =
            (struct redis_script){.name = name ? name : "several limits", .text = lua_scripts[i].text};
        redis_script_init(&scripts[i]);
        all[i] = &scripts[i];
    }
    for (size_t i = 0; i < algorithm_count; i++)
        place[i] = find(algorithms[i]->name);
    place[algorithm_count] = find(NULL);
}

const struct redis_script *decide_script_of(const struct policy *policy) {
    size_t i = 0;
    if (policy->limit_count > 1) return &scripts[place[algorithm_count]];
    while (algorithms[i] != policy->limits[0].algorithm)
        i++;
    return &scripts[place[i]];
}
