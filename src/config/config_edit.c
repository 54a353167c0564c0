/* One change to the configuration: PUT, PATCH (JSON Merge Patch, RFC 7396) or DELETE, of a policy or of the
 * whole.
 *
 * Edits a tree of the document and builds the next snapshot from it; what is valid is decided there. */
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "config/config_internal.h"

static cJSON *find(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Takes `value`. */
static void set(cJSON *object, const char *name, cJSON *value) {
    if (find(object, name)) {
        cJSON_ReplaceItemInObjectCaseSensitive(object, name, value);
    } else {
        cJSON_AddItemToObject(object, name, value);
    }
}

/* Does the patch put a list of limits in place of the algorithm? */
static bool turns_to_limits(const cJSON *patch) {
    const cJSON *limits = find(patch, "limits");
    return limits && !cJSON_IsNull(limits);
}

/* Another algorithm begins with its own defaults, even where a parameter has the same name. */
static void drop_old_parameters(cJSON *policy, const cJSON *patch) {
    const char *old = cJSON_GetStringValue(find(policy, "algorithm"));
    const cJSON *next = find(patch, "algorithm");
    const struct algorithm *algorithm = old ? algorithm_find(old, strlen(old)) : NULL;
    bool goes = cJSON_IsNull(next) && turns_to_limits(patch);
    bool changes = cJSON_IsString(next) && algorithm && strcmp(old, next->valuestring) != 0;
    if (!algorithm || !(goes || changes)) return;
    for (size_t i = 0; i < algorithm->param_count; i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(policy, algorithm->params[i].name);
    }
}

/* What only `delay` has goes with it. */
static void drop_old_delay(cJSON *policy, const cJSON *patch) {
    const cJSON *next = find(patch, "on_limit");
    const char *word = cJSON_GetStringValue(next);
    if (next && !(word && strcmp(word, "delay") == 0))
        cJSON_DeleteItemFromObjectCaseSensitive(policy, "max_delay");
}

static bool may_go(const cJSON *member, const cJSON *patch) {
    if (!cJSON_IsNull(member)) return false;
    return config_policy_may_lack(member->string) ||
           (turns_to_limits(patch) && config_limits_replace(member->string));
}

/* `null` takes away only what a policy may lack; elsewhere it stays, and the reader refuses it by name. */
static void merge_policy(cJSON *policies, const char *name, const cJSON *patch) {
    if (cJSON_IsNull(patch)) {
        cJSON_DeleteItemFromObjectCaseSensitive(policies, name);
        return;
    }
    if (!cJSON_IsObject(patch)) {
        set(policies, name, cJSON_Duplicate(patch, true));
        return;
    }
    if (!find(policies, name)) cJSON_AddItemToObject(policies, name, cJSON_CreateObject());
    cJSON *policy = find(policies, name);
    drop_old_parameters(policy, patch);
    drop_old_delay(policy, patch);
    const cJSON *member;
    cJSON_ArrayForEach(member, patch) {
        if (may_go(member, patch)) {
            cJSON_DeleteItemFromObjectCaseSensitive(policy, member->string);
        } else {
            set(policy, member->string, cJSON_Duplicate(member, true));
        }
    }
}

static void merge_document(cJSON *document, const cJSON *patch) {
    const cJSON *member, *policy;
    cJSON_ArrayForEach(member, patch) {
        if (strcmp(member->string, "policies") != 0 || !cJSON_IsObject(member)) {
            set(document, member->string, cJSON_Duplicate(member, true));
            continue;
        }
        cJSON_ArrayForEach(policy, member) merge_policy(find(document, "policies"), policy->string, policy);
    }
}

/* A document that was read, changed and sent back carries the version it was read at. */
static int check_version(const struct config *current, const cJSON *body, struct config_refusal *why) {
    int64_t micro;
    const cJSON *version = find(body, "version");
    if (!version || !config_tree_micro(version, &micro))
        return 0; /* what is no number is refused with the rest */
    if (micro % MICRO != 0 || (uint64_t)(micro / MICRO) == current->version) return 0;
    return config_refuse(why, 412, "version", "somebody else changed the settings: now version %llu; got %s",
                         (unsigned long long)current->version, version->valuestring);
}

/* Takes `body` and returns the document as it is to be. NULL when refused. */
static cJSON *edit_document(const struct config *current, const struct config_change *change, cJSON *body,
                            struct config_refusal *why) {
    if (change->verb == CONFIG_DELETE) {
        config_refuse(why, 409, "", "the whole configuration cannot be deleted, only replaced");
        return NULL;
    }
    if (check_version(current, body, why) < 0) {
        cJSON_Delete(body);
        return NULL;
    }
    if (change->verb == CONFIG_PUT || !cJSON_IsObject(body))
        return body; /* the reader refuses what is no object */
    cJSON *document = config_tree_parse(current->json, current->json_len, why);
    if (document) merge_document(document, body);
    cJSON_Delete(body);
    return document;
}

static int check_target(const struct config *current, const struct config_change *change,
                        struct config_refusal *why) {
    bool is_there = config_policy(current, change->policy, strlen(change->policy)) != NULL;
    if (change->absent && is_there) {
        return config_refuse(why, 412, "", "there is a policy %.64s already", change->policy);
    }
    if (change->verb == CONFIG_PUT) return 0;
    if (!is_there) {
        return config_refuse(why, 404, "", "there is no policy %.64s", change->policy);
    }
    if (change->verb == CONFIG_DELETE && strcmp(change->policy, "default") == 0) {
        return config_refuse(why, 409, "", "the policy default must always exist: change it instead");
    }
    return 0;
}

/* The same for one policy. */
static cJSON *edit_policy(const struct config *current, const struct config_change *change, cJSON *body,
                          struct config_refusal *why) {
    cJSON *document = NULL;
    if (check_target(current, change, why) == 0)
        document = config_tree_parse(current->json, current->json_len, why);
    if (!document) {
        cJSON_Delete(body);
        return NULL;
    }
    cJSON *policies = find(document, "policies");
    if (change->verb == CONFIG_DELETE) {
        cJSON_DeleteItemFromObjectCaseSensitive(policies, change->policy);
        return document;
    }
    if (change->verb == CONFIG_PUT || !cJSON_IsObject(body)) {
        set(policies, change->policy, body);
        return document;
    }
    merge_policy(policies, change->policy, body);
    cJSON_Delete(body);
    return document;
}

/* To who changes one policy, its members have no path before them. */
static void shorten_member(const char *policy, struct config_refusal *why) {
    char prefix[sizeof why->member];
    int len = snprintf(prefix, sizeof prefix, "policies.%s", policy);
    if (len < 0 || (size_t)len >= sizeof prefix || strncmp(why->member, prefix, (size_t)len) != 0) return;
    const char *rest = why->member + len;
    if (*rest == '.') rest++;
    memmove(why->member, rest, strlen(rest) + 1);
}

struct config *config_apply(struct config *current, const struct config_change *change, bool *created,
                            struct config_refusal *why) {
    cJSON *body = NULL;
    *created = false;
    if (change->verb != CONFIG_DELETE && !(body = config_tree_parse(change->body, change->body_len, why)))
        return NULL;
    cJSON *document = (change->policy ? edit_policy : edit_document)(current, change, body, why);
    if (!document) return NULL;
    struct config *next = config_build(document, current->version + 1, change->policy, why);
    cJSON_Delete(document);
    if (!next) {
        if (change->policy) shorten_member(change->policy, why);
        return NULL;
    }
    if (strcmp(next->json, current->json) == 0) {
        config_unref(next);
        return config_ref(current);
    }
    if (change->policy && change->verb == CONFIG_PUT) {
        *created = !config_policy(current, change->policy, strlen(change->policy));
    }
    return next;
}
