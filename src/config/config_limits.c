/* By what a policy limits: one algorithm with its parameters, or a list of up to four limits in its place.
 *
 * Knows no bounds: the table of algorithms has them. */
#include <stdio.h>
#include <string.h>

#include "config/config_internal.h"

enum { PREFIX_MAX = 16, MEMBER_MAX = 128 };

static int refuse_algorithm(struct reading *r, const char *member, const cJSON *value) {
    struct buf allowed = BUF_INIT(CONFIG_ALLOWED_MAX);
    for (size_t i = 0; i < algorithm_count; i++) {
        const char *glue = i == 0 ? "" : i + 1 == algorithm_count ? " or " : ", ";
        buf_addf(&allowed, "%s\"%s\"", glue, algorithms[i]->name);
    }
    config_policy_refuse_value(r, member, value, buf_str(&allowed));
    buf_free(&allowed);
    return -1;
}

static int refuse_param(struct reading *r, const char *prefix, const struct param *param, const char *words) {
    char member[MEMBER_MAX];
    snprintf(member, sizeof member, "%s%s", prefix, param->name);
    return config_policy_refuse(r, member, words);
}

static int read_params(struct reading *r, struct limit_settings *limit, const char *prefix,
                       const cJSON *object) {
    const struct algorithm *algorithm = limit->algorithm;
    for (size_t i = 0; i < algorithm->param_count; i++) {
        const struct param *param = &algorithm->params[i];
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, param->name);
        if (!value || config_tree_micro(value, &limit->params[i])) continue;
        char allowed[CONFIG_ALLOWED_MAX], member[MEMBER_MAX];
        param_allowed(param, allowed, sizeof allowed);
        snprintf(member, sizeof member, "%s%s", prefix, param->name);
        return config_policy_refuse_value(r, member, value, allowed);
    }
    struct err err = ERR_INIT;
    size_t faulty = 0;
    if (limit_settings_check(limit, &faulty, &err) == 0) return 0;
    return refuse_param(r, prefix, &algorithm->params[faulty], err.text);
}

/* Algorithm and parameters of `object`, whose members are called `prefix` and their name. */
static int read_limit(struct reading *r, struct limit_settings *limit, const char *prefix,
                      const cJSON *object) {
    const struct algorithm *algorithm = algorithms[0];
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "algorithm");
    if (value) {
        const char *name = cJSON_GetStringValue(value);
        char member[MEMBER_MAX];
        snprintf(member, sizeof member, "%salgorithm", prefix);
        algorithm = name ? algorithm_find(name, strlen(name)) : NULL;
        if (!algorithm) return refuse_algorithm(r, member, value);
    }
    limit_settings_default(limit, algorithm);
    return read_params(r, limit, prefix, object);
}

/* --- the list --- */

static bool is_taken(const struct policy *policy, const char *name) {
    for (size_t i = 0; i < policy->limit_count; i++) {
        if (strcmp(policy->limits[i].name, name) == 0) return true;
    }
    return false;
}

static int read_name(struct reading *r, struct limit_settings *limit, const char *prefix,
                     const cJSON *object) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "name");
    char member[MEMBER_MAX];
    snprintf(member, sizeof member, "%sname", prefix);
    if (value && (!cJSON_IsString(value) || !config_name_is_valid(value->valuestring)))
        return config_policy_refuse_value(r, member, value,
                                          "text of 1 to 64 of a-z, 0-9, '_' and '-' that begins with a "
                                          "letter or digit");
    if (value) snprintf(limit->name, sizeof limit->name, "%s", value->valuestring);
    if (!is_taken(r->policy, limit->name)) return 0;
    char words[MEMBER_MAX];
    snprintf(words, sizeof words, "must be unique among the limits; \"%s\" is there twice", limit->name);
    return config_policy_refuse(r, member, words);
}

static int check_members(struct reading *r, const struct limit_settings *limit, const char *prefix,
                         const cJSON *object) {
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        if (strcmp(item->string, "name") == 0 || strcmp(item->string, "algorithm") == 0 ||
            algorithm_param(limit->algorithm, item->string) >= 0)
            continue;
        char member[MEMBER_MAX];
        struct buf words = BUF_INIT(CONFIG_ALLOWED_MAX);
        snprintf(member, sizeof member, "%s%.80s", prefix, item->string);
        buf_addf(&words, "is not a member of a limit with %s, which has name, algorithm",
                 limit->algorithm->name);
        for (size_t i = 0; i < limit->algorithm->param_count; i++)
            buf_addf(&words, ", %s", limit->algorithm->params[i].name);
        config_policy_refuse(r, member, buf_str(&words));
        buf_free(&words);
        return -1;
    }
    return 0;
}

static int read_item(struct reading *r, const cJSON *item) {
    struct policy *policy = r->policy;
    struct limit_settings *limit = &policy->limits[policy->limit_count];
    char prefix[PREFIX_MAX];
    snprintf(prefix, sizeof prefix, "limits[%d]", (int)policy->limit_count);
    if (!cJSON_IsObject(item))
        return config_policy_refuse_value(r, prefix, item,
                                          "an object with name, algorithm and the algorithm's parameters");
    snprintf(prefix, sizeof prefix, "limits[%d].", (int)policy->limit_count);
    if (read_limit(r, limit, prefix, item) < 0 || read_name(r, limit, prefix, item) < 0 ||
        check_members(r, limit, prefix, item) < 0)
        return -1;
    policy->limit_count++;
    return 0;
}

static int check_beside(struct reading *r, const cJSON *object) {
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        if (config_limits_replace(item->string))
            return config_policy_refuse(
                r, item->string,
                "cannot stand beside limits, which take the place of a single "
                "algorithm; leave it out (in a PATCH: \"algorithm\":null), or limits");
    }
    return 0;
}

static int read_list(struct reading *r, const cJSON *list, const cJSON *object) {
    const cJSON *item;
    if (!cJSON_IsArray(list))
        return config_policy_refuse_value(r, "limits", list, "an array of 1 to 4 limits");
    int count = cJSON_GetArraySize(list);
    if (count < 1 || count > LIMITS_MAX) {
        char words[MEMBER_MAX];
        snprintf(words, sizeof words, "must have 1 to %d limits; got %d", LIMITS_MAX, count);
        return config_policy_refuse(r, "limits", words);
    }
    r->policy->combined = true;
    cJSON_ArrayForEach(item, list) {
        if (read_item(r, item) < 0) return -1;
    }
    return check_beside(r, object);
}

static void bound_cost(struct policy *policy) {
    policy->cost_max = limit_cost_max(&policy->limits[0]);
    for (size_t i = 1; i < policy->limit_count; i++) {
        int64_t most = limit_cost_max(&policy->limits[i]);
        if (most < policy->cost_max) policy->cost_max = most;
    }
}

/* --- both --- */

bool config_limits_replace(const char *member) {
    if (strcmp(member, "algorithm") == 0) return true;
    for (size_t i = 0; i < algorithm_count; i++) {
        if (algorithm_param(algorithms[i], member) >= 0) return true;
    }
    return false;
}

int config_limits_read(struct reading *r, const cJSON *object) {
    struct policy *policy = r->policy;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "limits");
    if (list) {
        if (read_list(r, list, object) < 0) return -1;
    } else {
        if (read_limit(r, &policy->limits[0], "", object) < 0) return -1;
        policy->limit_count = 1;
    }
    bound_cost(policy);
    return 0;
}

static void write_limit(struct json_out *json, const struct limit_settings *limit) {
    json_str(json, "algorithm", limit->algorithm->name);
    for (size_t i = 0; i < limit->algorithm->param_count; i++)
        json_micro(json, limit->algorithm->params[i].name, limit->params[i]);
}

void config_limits_write(struct json_out *json, const struct policy *policy) {
    if (!policy->combined) {
        write_limit(json, &policy->limits[0]);
        return;
    }
    json_array(json, "limits");
    for (size_t i = 0; i < policy->limit_count; i++) {
        json_object(json, NULL);
        json_str(json, "name", policy->limits[i].name);
        write_limit(json, &policy->limits[i]);
        json_end(json);
    }
    json_end(json);
}
