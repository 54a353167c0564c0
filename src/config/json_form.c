/* Reading a flat JSON object by a table. Knows no member's meaning. */
#include "config/json_form.h"

#include <string.h>

#include "base/decimal.h"
#include "config/config_internal.h"

static const struct json_form_member *find(const struct json_form_member *members, size_t count,
                                           const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].name, name) == 0) return &members[i];
    return NULL;
}

static int read_text(const struct json_form_member *member, const cJSON *value, struct config_refusal *why) {
    char got[CONFIG_GOT_MAX];

    if (cJSON_IsString(value) && strlen(value->valuestring) < member->text_size) {
        memcpy(member->text, value->valuestring, strlen(value->valuestring) + 1);
        return 0;
    }
    config_got(value, got);
    return config_refuse(why, 422, member->name, "%s must be text of at most %zu bytes; got %s", member->name,
                         member->text_size - 1, got);
}

static int read_number(const struct json_form_member *member, const cJSON *value,
                       struct config_refusal *why) {
    char got[CONFIG_GOT_MAX];

    if (config_tree_micro(value, member->number) && (!member->whole || *member->number % MICRO == 0))
        return 0;
    config_got(value, got);
    return config_refuse(why, 422, member->name, "%s must be a %s; got %s", member->name,
                         member->whole ? "whole number" : "number with at most six decimals", got);
}

static int read_members(const struct json_form_member *members, size_t count, const cJSON *object,
                        struct config_refusal *why) {
    const cJSON *value;

    cJSON_ArrayForEach(value, object) {
        const struct json_form_member *member = find(members, count, value->string);
        if (!member)
            return config_refuse(why, 422, value->string, "%.64s is no member that is known here",
                                 value->string);
        if ((member->text ? read_text : read_number)(member, value, why) != 0) return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (members[i].required && !cJSON_GetObjectItemCaseSensitive(object, members[i].name))
            return config_refuse(why, 422, members[i].name, "%s is missing", members[i].name);
    }
    return 0;
}

int json_form_read(const char *body, size_t len, const struct json_form_member *members, size_t count,
                   struct config_refusal *why) {
    cJSON *tree = config_tree_parse(body, len, why);
    char got[CONFIG_GOT_MAX];
    int result;

    if (!tree) return -1;
    if (cJSON_IsObject(tree)) {
        result = read_members(members, count, tree, why);
    } else {
        config_got(tree, got);
        result = config_refuse(why, 422, "", "the body must be an object; got %s", got);
    }
    cJSON_Delete(tree);
    return result;
}
