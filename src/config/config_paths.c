/* Which policy covers a path: one sorted index over the paths of all policies.
 *
 * Knows no requests: paths come canonical from http's uri. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/http_method.h"
#include "base/xmalloc.h"
#include "config/config_internal.h"

/* Sorted so that what lies below a path follows it at once; `parent` leads to the next shorter path that
 * covers it. */
struct path_entry {
    const char *path; /* the policy's */
    size_t len;
    unsigned methods; /* that it covers; all of them, if the policy names none */
    const struct policy *policy;
    const struct path_entry *parent; /* NULL if there is none */
};

const char config_path_allowed[] = "a path that begins with '/', has at most 256 bytes, no empty, '.' or "
                                   "'..' segment, no '/' at its end and none of "
                                   "'?', '#', '%' and control characters (paths are compared decoded)";

static bool is_segment(const char *start, size_t len) {
    if (len == 0 || (len <= 2 && memcmp(start, "..", len) == 0)) return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)start[i];
        if (byte < 0x20 || byte == 0x7f || strchr("?#%", byte)) return false;
    }
    return true;
}

bool config_path_is_canonical(const char *path) {
    if (path[0] != '/' || strlen(path) > CONFIG_PATH_BYTES_MAX) return false;
    if (path[1] == '\0') return true;
    for (const char *at = path; *at == '/';) {
        size_t len = strcspn(++at, "/");
        if (!is_segment(at, len)) return false;
        at += len;
    }
    return true;
}

/* Is `prefix` the path itself or a parent of it? */
static bool covers(const char *prefix, size_t len, const char *path) {
    if (strncmp(prefix, path, len) != 0) return false;
    return len == 1 || path[len] == '\0' || path[len] == '/';
}

/* Bytewise, but '/' sorts before all other bytes: /a, /a/b, /a-b. */
static int compare_paths(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    int left = *a == '/' ? 1 : (unsigned char)*a << 1, right = *b == '/' ? 1 : (unsigned char)*b << 1;
    return left - right;
}

static int compare_entries(const void *a, const void *b) {
    const struct path_entry *left = a, *right = b;
    int order = compare_paths(left->path, right->path);
    return order ? order : strcmp(left->policy->name, right->policy->name);
}

/* HEAD does what GET does and shows no body: what limits the one must not be passed by the other. */
static unsigned methods_covered(const struct policy *policy) {
    if (policy->methods == 0) return ~0U;
    return policy->methods | (policy->methods & HTTP_GET ? HTTP_HEAD : 0);
}

/* `a` stands before `b` in the index. */
static int refuse_same(const struct path_entry *a, const struct path_entry *b, const char *focus,
                       struct config_refusal *why) {
    bool a_is_meant = focus && strcmp(a->policy->name, focus) == 0;
    const struct policy *blamed = a_is_meant ? a->policy : b->policy,
                        *other = a_is_meant ? b->policy : a->policy;
    char member[sizeof why->member];
    snprintf(member, sizeof member, "policies.%s.paths", blamed->name);
    if (blamed == other) return config_refuse(why, 422, member, "paths has \"%s\" twice", a->path);
    return config_refuse(why, 422, member, "paths has \"%s\", which policy %s has already%s", a->path,
                         other->name,
                         a->policy->methods | b->policy->methods ? ", for a method of both" : "");
}

static int check_same(const struct config *config, size_t at, const char *focus, struct config_refusal *why) {
    const struct path_entry *entry = &config->paths[at];
    for (size_t i = at; i-- > 0 && strcmp(config->paths[i].path, entry->path) == 0;) {
        if (config->paths[i].methods & entry->methods)
            return refuse_same(&config->paths[i], entry, focus, why);
    }
    return 0;
}

/* From `entry` upwards, the first that covers `path`. What covers a path is the entry that sorts just before
 * it, or one of that entry's parents. */
static const struct path_entry *first_covering(const struct path_entry *entry, const char *path) {
    while (entry && !covers(entry->path, entry->len, path))
        entry = entry->parent;
    return entry;
}

static void collect(struct config *config) {
    size_t count = 0;
    for (size_t i = 0; i < config->policy_count; i++)
        count += config->policies[i].path_count;
    config->paths = xcalloc(count ? count : 1, sizeof *config->paths);
    for (size_t i = 0; i < config->policy_count; i++) {
        const struct policy *policy = &config->policies[i];
        for (size_t j = 0; j < policy->path_count; j++) {
            config->paths[config->path_entry_count++] =
                (struct path_entry){.path = policy->paths[j],
                                    .len = strlen(policy->paths[j]),
                                    .methods = methods_covered(policy),
                                    .policy = policy};
        }
    }
    qsort(config->paths, config->path_entry_count, sizeof *config->paths, compare_entries);
}

int config_paths_index(struct config *config, const char *focus, struct config_refusal *why) {
    collect(config);
    for (size_t i = 1; i < config->path_entry_count; i++) {
        if (check_same(config, i, focus, why) < 0) return -1;
        config->paths[i].parent = first_covering(&config->paths[i - 1], config->paths[i].path);
    }
    return 0;
}

/* The last entry that does not sort behind `path`; NULL if all do. */
static const struct path_entry *last_not_behind(const struct config *config, const char *path) {
    size_t low = 0, high = config->path_entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_paths(config->paths[middle].path, path) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? &config->paths[low - 1] : NULL;
}

const struct policy *config_match(const struct config *config, const char *path, unsigned method,
                                  const char **prefix) {
    const struct path_entry *entry = first_covering(last_not_behind(config, path), path);
    /* Upwards only: as many steps as the path has parents, times the few policies that can share a path. */
    while (entry && entry->methods != ~0U && !(entry->methods & method)) {
        entry = first_covering(entry->parent, path);
    }
    if (!entry) return NULL;
    *prefix = entry->path;
    return entry->policy;
}
