/* One policy from and to JSON, by a table of its members.
 *
 * Knows no other policies and no document around it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/xmalloc.h"
#include "config/config_internal.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ALLOWED_MAX = 320 };

struct reading {
    struct policy *policy;
    struct config_refusal *why;
};

/* `read` gets NULL for an absent member, and sets its default. The table's order is that of reading and
 * writing: the bounds of `cost` need the algorithm. */
struct member {
    const char *name;
    bool may_lack; /* a merge patch may take it away, back to its default */
    int (*read)(struct reading *r, const struct member *member, const cJSON *value, const cJSON *object);
    void (*write)(struct json_out *json, const struct member *member, const struct policy *policy);
};

static int refuse(struct reading *r, const char *member, const char *words) {
    char path[sizeof r->why->member];
    snprintf(path, sizeof path, "policies.%s.%.150s", r->policy->name, member);
    return config_refuse(r->why, 422, path, "%.64s %s", member, words);
}

static int refuse_value(struct reading *r, const char *member, const cJSON *value, const char *allowed) {
    char got[CONFIG_GOT_MAX], words[ALLOWED_MAX + CONFIG_GOT_MAX + 16];
    config_got(value, got);
    snprintf(words, sizeof words, "must be %s; got %s", allowed, got);
    return refuse(r, member, words);
}

/* --- paths --- */

static int add_path(struct reading *r, const cJSON *item) {
    struct policy *policy = r->policy;
    if (!cJSON_IsString(item) || !config_path_is_canonical(item->valuestring)) {
        char member[32];
        snprintf(member, sizeof member, "paths[%zu]", policy->path_count);
        return refuse_value(r, member, item, config_path_allowed);
    }
    policy->paths[policy->path_count++] = xstrdup(item->valuestring);
    return 0;
}

static int read_paths(struct reading *r, const struct member *member, const cJSON *value,
                      const cJSON *object) {
    (void)object;
    struct policy *policy = r->policy;
    policy->paths = xcalloc(CONFIG_PATHS_MAX, sizeof *policy->paths);
    if (!value) {
        if (strcmp(policy->name, "default") == 0) policy->paths[policy->path_count++] = xstrdup("/api");
        return 0;
    }
    if (!cJSON_IsArray(value)) return refuse_value(r, member->name, value, "an array of paths");
    int count = cJSON_GetArraySize(value);
    if (count > CONFIG_PATHS_MAX) {
        char words[64];
        snprintf(words, sizeof words, "must have at most %d paths; got %d", CONFIG_PATHS_MAX, count);
        return refuse(r, member->name, words);
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, value) {
        if (add_path(r, item) < 0) return -1;
    }
    return 0;
}

static void write_paths(struct json_out *json, const struct member *member, const struct policy *policy) {
    json_array(json, member->name);
    for (size_t i = 0; i < policy->path_count; i++)
        json_str(json, NULL, policy->paths[i]);
    json_end(json);
}

/* --- key --- */

static int read_key(struct reading *r, const struct member *member, const cJSON *value, const cJSON *object) {
    (void)object;
    struct err err = ERR_INIT;
    if (value && !cJSON_IsString(value)) {
        return refuse_value(r, member->name, value, "a template such as \"user:{query.user|ip}\"");
    }
    const char *text = value ? value->valuestring : "ip:{ip}";
    r->policy->key = key_template_parse(text, strlen(text), &err);
    if (!r->policy->key) return refuse(r, member->name, err.text);
    r->policy->key_text = xstrdup(text);
    return 0;
}

static void write_key(struct json_out *json, const struct member *member, const struct policy *policy) {
    json_str(json, member->name, policy->key_text);
}

/* --- algorithm and its parameters --- */

static int refuse_algorithm(struct reading *r, const struct member *member, const cJSON *value) {
    struct buf allowed = BUF_INIT(ALLOWED_MAX);
    for (size_t i = 0; i < algorithm_count; i++) {
        buf_addf(&allowed, "%s\"%s\"",
                 i == 0                     ? ""
                 : i + 1 == algorithm_count ? " or "
                                            : ", ",
                 algorithms[i]->name);
    }
    refuse_value(r, member->name, value, buf_str(&allowed));
    buf_free(&allowed);
    return -1;
}

static int read_params(struct reading *r, struct limit_settings *limit, const cJSON *object) {
    const struct algorithm *algorithm = limit->algorithm;
    for (size_t i = 0; i < algorithm->param_count; i++) {
        const struct param *param = &algorithm->params[i];
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, param->name);
        if (!value || config_tree_micro(value, &limit->params[i])) continue;
        char allowed[ALLOWED_MAX];
        param_allowed(param, allowed, sizeof allowed);
        return refuse_value(r, param->name, value, allowed);
    }
    struct err err = ERR_INIT;
    size_t faulty = 0;
    if (limit_settings_check(limit, &faulty, &err) == 0) return 0;
    return refuse(r, algorithm->params[faulty].name, err.text);
}

static int read_algorithm(struct reading *r, const struct member *member, const cJSON *value,
                          const cJSON *object) {
    const struct algorithm *algorithm = algorithms[0];
    if (value) {
        algorithm =
            cJSON_IsString(value) ? algorithm_find(value->valuestring, strlen(value->valuestring)) : NULL;
        if (!algorithm) return refuse_algorithm(r, member, value);
    }
    struct policy *policy = r->policy;
    limit_settings_default(&policy->limits[0], algorithm);
    policy->limit_count = 1;
    if (read_params(r, &policy->limits[0], object) < 0) return -1;
    policy->cost_max = limit_cost_max(&policy->limits[0]);
    return 0;
}

static void write_algorithm(struct json_out *json, const struct member *member, const struct policy *policy) {
    const struct limit_settings *limit = &policy->limits[0];
    json_str(json, member->name, limit->algorithm->name);
    for (size_t i = 0; i < limit->algorithm->param_count; i++) {
        json_micro(json, limit->algorithm->params[i].name, limit->params[i]);
    }
}

/* --- cost --- */

static int read_cost(struct reading *r, const struct member *member, const cJSON *value,
                     const cJSON *object) {
    (void)object;
    int64_t micro = MICRO;
    struct policy *policy = r->policy;
    if (value && (!config_tree_micro(value, &micro) || micro % MICRO != 0 || micro < MICRO ||
                  micro / MICRO > policy->cost_max)) {
        char allowed[ALLOWED_MAX];
        snprintf(allowed, sizeof allowed, "a whole number from 1 to %lld", (long long)policy->cost_max);
        return refuse_value(r, member->name, value, allowed);
    }
    policy->cost = micro / MICRO;
    return 0;
}

static void write_cost(struct json_out *json, const struct member *member, const struct policy *policy) {
    json_int(json, member->name, policy->cost);
}

/* --- one word of several; the first is the default --- */

static const char *const on_limit_words[] = {"reject", NULL};
static const char *const on_redis_error_words[] = {"local", "open", "closed", NULL};

/* The word that `value` is (NULL: the default). NULL when refused. */
static const char *read_word(struct reading *r, const struct member *member, const cJSON *value,
                             const char *const *words) {
    struct buf allowed = BUF_INIT(ALLOWED_MAX);
    if (!value) return words[0];
    for (size_t i = 0; words[i]; i++) {
        if (cJSON_IsString(value) && strcmp(words[i], value->valuestring) == 0) {
            buf_free(&allowed);
            return words[i];
        }
        buf_addf(&allowed, "%s\"%s\"", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    refuse_value(r, member->name, value, buf_str(&allowed));
    buf_free(&allowed);
    return NULL;
}

static int read_on_limit(struct reading *r, const struct member *member, const cJSON *value,
                         const cJSON *object) {
    (void)object;
    const char *word = read_word(r, member, value, on_limit_words);
    if (!word) return -1;
    r->policy->on_limit = (enum on_limit)on_limit_find(word);
    return 0;
}

static void write_on_limit(struct json_out *json, const struct member *member, const struct policy *policy) {
    json_str(json, member->name, on_limit_name(policy->on_limit));
}

static int read_on_redis_error(struct reading *r, const struct member *member, const cJSON *value,
                               const cJSON *object) {
    (void)object;
    const char *word = read_word(r, member, value, on_redis_error_words);
    if (!word) return -1;
    r->policy->on_redis_error = (enum on_redis_error)on_redis_error_find(word);
    return 0;
}

static void write_on_redis_error(struct json_out *json, const struct member *member,
                                 const struct policy *policy) {
    json_str(json, member->name, on_redis_error_name(policy->on_redis_error));
}

/* --- the table --- */

static const struct member members[] = {
    {"paths", true, read_paths, write_paths},
    {"key", false, read_key, write_key},
    {"algorithm", false, read_algorithm, write_algorithm},
    {"cost", true, read_cost, write_cost},
    {"on_limit", true, read_on_limit, write_on_limit},
    {"on_redis_error", true, read_on_redis_error, write_on_redis_error},
};

static const struct member *find_member(const char *name) {
    for (size_t i = 0; i < COUNT(members); i++) {
        if (strcmp(members[i].name, name) == 0) return &members[i];
    }
    return NULL;
}

bool config_policy_may_lack(const char *member) {
    const struct member *found = find_member(member);
    return found && found->may_lack;
}

static int refuse_unknown(struct reading *r, const char *name) {
    const struct algorithm *algorithm = r->policy->limits[0].algorithm;
    struct buf words = BUF_INIT(ALLOWED_MAX);
    buf_addf(&words, "is not a member of a policy with algorithm %s, which has ", algorithm->name);
    for (size_t i = 0; i < COUNT(members); i++)
        buf_addf(&words, "%s%s", i ? ", " : "", members[i].name);
    for (size_t i = 0; i < algorithm->param_count; i++)
        buf_addf(&words, ", %s", algorithm->params[i].name);
    refuse(r, name, buf_str(&words));
    buf_free(&words);
    return -1;
}

int config_policy_read(struct policy *policy, const char *name, const cJSON *object,
                       struct config_refusal *why) {
    struct reading r = {policy, why};
    snprintf(policy->name, sizeof policy->name, "%s", name);
    if (!cJSON_IsObject(object)) {
        char member[sizeof why->member], got[CONFIG_GOT_MAX];
        snprintf(member, sizeof member, "policies.%s", policy->name);
        config_got(object, got);
        return config_refuse(why, 422, member, "policy %s must be an object; got %s", policy->name, got);
    }
    for (size_t i = 0; i < COUNT(members); i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, members[i].name);
        if (members[i].read(&r, &members[i], value, object) < 0) return -1;
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        if (find_member(item->string) || algorithm_param(policy->limits[0].algorithm, item->string) >= 0)
            continue;
        return refuse_unknown(&r, item->string);
    }
    return 0;
}

void config_policy_write(struct json_out *json, const char *member, const struct policy *policy) {
    json_object(json, member);
    for (size_t i = 0; i < COUNT(members); i++)
        members[i].write(json, &members[i], policy);
    json_end(json);
}

void config_policy_release(struct policy *policy) {
    for (size_t i = 0; i < policy->path_count; i++)
        free(policy->paths[i]);
    free(policy->paths);
    key_template_free(policy->key);
    free(policy->key_text);
}
