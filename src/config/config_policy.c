/* One policy from and to JSON, by a table of its members.
 *
 * Knows no other policies and no document around it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/decimal.h"
#include "base/http_method.h"
#include "base/xmalloc.h"
#include "config/config_internal.h"

enum { MAX_DELAY_S = 30, MAX_DELAY_DEFAULT_S = 1 };

/* `read` gets NULL for an absent member, and sets its default. The table's order is that of reading and
 * writing: the bounds of `cost` need the algorithm. */
struct member {
    const char *name;
    bool may_lack; /* a merge patch may take it away, back to its default */
    int (*read)(struct reading *r, const struct member *member, const cJSON *value, const cJSON *object);
    void (*write)(struct json_out *json, const struct member *member, const struct policy *policy);
};

bool config_name_is_valid(const char *name) {
    size_t len = strlen(name);
    if (len == 0 || len > POLICY_NAME_MAX || *name == '_' || *name == '-') return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

const char config_name_allowed[] = "1 to 64 of a-z, 0-9, '_' and '-' and begin with a letter or digit";

int config_policy_refuse(struct reading *r, const char *member, const char *words) {
    char path[sizeof r->why->member];
    snprintf(path, sizeof path, "policies.%s.%.150s", r->policy->name, member);
    return config_refuse(r->why, 422, path, "%.96s %s", member, words);
}

int config_policy_refuse_value(struct reading *r, const char *member, const cJSON *value,
                               const char *allowed) {
    char got[CONFIG_GOT_MAX], words[CONFIG_ALLOWED_MAX + CONFIG_GOT_MAX + 16];
    config_got(value, got);
    snprintf(words, sizeof words, "must be %s; got %s", allowed, got);
    return config_policy_refuse(r, member, words);
}

/* --- paths --- */

static int add_path(struct reading *r, const cJSON *item) {
    struct policy *policy = r->policy;
    if (!cJSON_IsString(item) || !config_path_is_canonical(item->valuestring)) {
        char member[32];
        snprintf(member, sizeof member, "paths[%zu]", policy->path_count);
        return config_policy_refuse_value(r, member, item, config_path_allowed);
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
    if (!cJSON_IsArray(value)) return config_policy_refuse_value(r, member->name, value, "an array of paths");
    int count = cJSON_GetArraySize(value);
    if (count > CONFIG_PATHS_MAX) {
        char words[64];
        snprintf(words, sizeof words, "must have at most %d paths; got %d", CONFIG_PATHS_MAX, count);
        return config_policy_refuse(r, member->name, words);
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
        return config_policy_refuse_value(r, member->name, value,
                                          "a template such as \"user:{query.user|ip}\"");
    }
    const char *text = value ? value->valuestring : "ip:{ip}";
    r->policy->key = key_template_parse(text, strlen(text), &err);
    if (!r->policy->key) return config_policy_refuse(r, member->name, err.text);
    r->policy->key_text = xstrdup(text);
    return 0;
}

static void write_key(struct json_out *json, const struct member *member, const struct policy *policy) {
    json_str(json, member->name, policy->key_text);
}

/* --- methods --- */

static int refuse_method(struct reading *r, const char *member, const cJSON *item) {
    struct buf allowed = BUF_INIT(CONFIG_ALLOWED_MAX);
    for (size_t i = 0; i < http_method_count; i++) {
        const char *glue = i == 0 ? "" : i + 1 == http_method_count ? " or " : ", ";
        buf_addf(&allowed, "%s\"%s\"", glue, http_method_names[i].name);
    }
    config_policy_refuse_value(r, member, item, buf_str(&allowed));
    buf_free(&allowed);
    return -1;
}

static int add_method(struct reading *r, const cJSON *item, size_t index) {
    char member[32];
    snprintf(member, sizeof member, "methods[%zu]", index);
    unsigned method = cJSON_IsString(item) ? http_method_of(item->valuestring) : HTTP_OTHER;
    if (method == HTTP_OTHER) return refuse_method(r, member, item);
    if (r->policy->methods & method) return config_policy_refuse(r, member, "names a method twice");
    r->policy->methods |= method;
    return 0;
}

static int read_methods(struct reading *r, const struct member *member, const cJSON *value,
                        const cJSON *object) {
    (void)object;
    if (!value) return 0;
    if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) == 0) {
        return config_policy_refuse_value(r, member->name, value,
                                          "an array of one or more methods, or left out for all");
    }
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, value) {
        if (add_method(r, item, index++) < 0) return -1;
    }
    return 0;
}

static void write_methods(struct json_out *json, const struct member *member, const struct policy *policy) {
    if (policy->methods == 0) return;
    json_array(json, member->name);
    for (size_t i = 0; i < http_method_count; i++) {
        if (policy->methods & http_method_names[i].method) json_str(json, NULL, http_method_names[i].name);
    }
    json_end(json);
}

/* --- algorithm or limits: config_limits.c --- */

static int read_algorithm(struct reading *r, const struct member *member, const cJSON *value,
                          const cJSON *object) {
    (void)member, (void)value;
    return config_limits_read(r, object);
}

static void write_algorithm(struct json_out *json, const struct member *member, const struct policy *policy) {
    (void)member;
    config_limits_write(json, policy);
}

/* Read and written with `algorithm`, in whose place it stands. */
static int read_limits(struct reading *r, const struct member *member, const cJSON *value,
                       const cJSON *object) {
    (void)r, (void)member, (void)value, (void)object;
    return 0;
}

static void write_limits(struct json_out *json, const struct member *member, const struct policy *policy) {
    (void)json, (void)member, (void)policy;
}

/* --- cost --- */

static int read_cost(struct reading *r, const struct member *member, const cJSON *value,
                     const cJSON *object) {
    (void)object;
    int64_t micro = MICRO;
    struct policy *policy = r->policy;
    if (value && (!config_tree_micro(value, &micro) || micro % MICRO != 0 || micro < MICRO ||
                  micro / MICRO > policy->cost_max)) {
        char allowed[CONFIG_ALLOWED_MAX];
        snprintf(allowed, sizeof allowed, "a whole number from 1 to %lld", (long long)policy->cost_max);
        return config_policy_refuse_value(r, member->name, value, allowed);
    }
    policy->cost = micro / MICRO;
    return 0;
}

static void write_cost(struct json_out *json, const struct member *member, const struct policy *policy) {
    json_int(json, member->name, policy->cost);
}

/* --- one word of several; the first is the default --- */

static const char *const on_limit_words[] = {"reject", "shadow", "delay", NULL};
static const char *const on_redis_error_words[] = {"local", "open", "closed", NULL};

/* The word that `value` is (NULL: the default). NULL when refused. */
static const char *read_word(struct reading *r, const struct member *member, const cJSON *value,
                             const char *const *words) {
    struct buf allowed = BUF_INIT(CONFIG_ALLOWED_MAX);
    if (!value) return words[0];
    for (size_t i = 0; words[i]; i++) {
        if (cJSON_IsString(value) && strcmp(words[i], value->valuestring) == 0) {
            buf_free(&allowed);
            return words[i];
        }
        buf_addf(&allowed, "%s\"%s\"", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    config_policy_refuse_value(r, member->name, value, buf_str(&allowed));
    buf_free(&allowed);
    return NULL;
}

static int read_on_limit(struct reading *r, const struct member *member, const cJSON *value,
                         const cJSON *object) {
    (void)object;
    struct policy *policy = r->policy;
    struct err err = ERR_INIT;
    const char *word = read_word(r, member, value, on_limit_words);
    if (!word) return -1;
    policy->on_limit = (enum on_limit)on_limit_find(word);
    for (size_t i = 0; policy->on_limit == ON_LIMIT_DELAY && i < policy->limit_count; i++) {
        if (limit_settings_check_delay(&policy->limits[i], 0, &err) == 0) continue;
        char words[ERR_TEXT_MAX];
        snprintf(words, sizeof words, "\"delay\" %.200s", err.text);
        return config_policy_refuse(r, member->name, words);
    }
    return 0;
}

static void write_on_limit(struct json_out *json, const struct member *member, const struct policy *policy) {
    json_str(json, member->name, on_limit_name(policy->on_limit));
}

static int read_max_delay(struct reading *r, const struct member *member, const cJSON *value,
                          const cJSON *object) {
    (void)object;
    struct policy *policy = r->policy;
    struct err err = ERR_INIT;
    int64_t micro = MAX_DELAY_DEFAULT_S * MICRO; /* millionths of a second are microseconds */
    if (policy->on_limit != ON_LIMIT_DELAY)
        return value ? config_policy_refuse(r, member->name, "goes only with on_limit \"delay\"") : 0;
    if (value && (!config_tree_micro(value, &micro) || micro < 0 || micro > MAX_DELAY_S * MICRO))
        return config_policy_refuse_value(r, member->name, value,
                                          "a number from 0 to 30 with at most six decimals");
    for (size_t i = 0; i < policy->limit_count; i++) {
        if (limit_settings_check_delay(&policy->limits[i], micro, &err) < 0)
            return config_policy_refuse(r, member->name, err.text);
    }
    policy->max_delay_us = micro;
    return 0;
}

static void write_max_delay(struct json_out *json, const struct member *member, const struct policy *policy) {
    if (policy->on_limit == ON_LIMIT_DELAY) json_micro(json, member->name, policy->max_delay_us);
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
    {"methods", true, read_methods, write_methods},
    {"key", false, read_key, write_key},
    {"algorithm", false, read_algorithm, write_algorithm},
    {"limits", true, read_limits, write_limits},
    {"cost", true, read_cost, write_cost},
    {"on_limit", true, read_on_limit, write_on_limit},
    {"max_delay", true, read_max_delay, write_max_delay},
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
    const struct policy *policy = r->policy;
    const struct algorithm *algorithm = policy->limits[0].algorithm;
    struct buf words = BUF_INIT(CONFIG_ALLOWED_MAX);
    buf_addf(&words, "is not a member of a policy with %s, which has ",
             policy->combined ? "limits" : algorithm->name);
    for (size_t i = 0; i < COUNT(members); i++)
        buf_addf(&words, "%s%s", i ? ", " : "", members[i].name);
    for (size_t i = 0; !policy->combined && i < algorithm->param_count; i++)
        buf_addf(&words, ", %s", algorithm->params[i].name);
    config_policy_refuse(r, name, buf_str(&words));
    buf_free(&words);
    return -1;
}

static bool is_member(const struct policy *policy, const char *name) {
    if (find_member(name)) return true;
    return !policy->combined && algorithm_param(policy->limits[0].algorithm, name) >= 0;
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
        if (!is_member(policy, item->string)) return refuse_unknown(&r, item->string);
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
