/* The configuration snapshot: built whole from a document, counted, found in by name.
 *
 * Changes nothing: config_edit.c makes the next one. */
#include "config/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/xmalloc.h"
#include "config/config_internal.h"

static const char *const document_members[] = {"policies", "version"};

static bool is_document_member(const char *name) {
    for (size_t i = 0; i < sizeof document_members / sizeof document_members[0]; i++) {
        if (strcmp(document_members[i], name) == 0) return true;
    }
    return false;
}

static int check_document(const cJSON *document, struct config_refusal *why) {
    char got[CONFIG_GOT_MAX];
    if (!cJSON_IsObject(document)) {
        config_got(document, got);
        return config_refuse(why, 422, "", "the document must be an object with \"policies\"; got %s", got);
    }
    const cJSON *member;
    cJSON_ArrayForEach(member, document) {
        if (is_document_member(member->string)) continue;
        return config_refuse(why, 422, member->string,
                             "\"%.64s\" is not a member of the document: it has policies, version",
                             member->string);
    }
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(document, "version");
    int64_t micro;
    if (version && (!config_tree_micro(version, &micro) || micro < MICRO || micro % MICRO != 0)) {
        config_got(version, got);
        return config_refuse(why, 422, "version",
                             "version must be a whole number from 1, or left out; got %s", got);
    }
    return 0;
}

static int check_policies(const cJSON *policies, struct config_refusal *why) {
    char got[CONFIG_GOT_MAX] = "nothing";
    if (policies) config_got(policies, got);
    if (!cJSON_IsObject(policies)) {
        return config_refuse(why, 422, "policies", "policies must be an object of policies by name; got %s",
                             got);
    }
    int count = cJSON_GetArraySize(policies);
    if (count > CONFIG_POLICIES_MAX) {
        return config_refuse(why, 422, "policies", "policies must be at most %d; got %d", CONFIG_POLICIES_MAX,
                             count);
    }
    if (!cJSON_GetObjectItemCaseSensitive(policies, "default")) {
        return config_refuse(why, 422, "policies.default", "the policy default must always exist; got none");
    }
    return 0;
}

static int compare_policies(const void *a, const void *b) {
    const struct policy *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static int read_policies(struct config *config, const cJSON *policies, struct config_refusal *why) {
    config->policies = xcalloc((size_t)cJSON_GetArraySize(policies), sizeof *config->policies);
    const cJSON *item;
    cJSON_ArrayForEach(item, policies) {
        if (!config_name_is_valid(item->string)) {
            char member[sizeof why->member];
            snprintf(member, sizeof member, "policies.%.200s", item->string);
            return config_refuse(why, 422, member, "a policy's name must have %s; got \"%.80s\"",
                                 config_name_allowed, item->string);
        }
        /* Counted first, so that what a refusal leaves half read is freed with the rest. */
        struct policy *policy = &config->policies[config->policy_count++];
        if (config_policy_read(policy, item->string, item, why) < 0) return -1;
    }
    qsort(config->policies, config->policy_count, sizeof *config->policies, compare_policies);
    return 0;
}

/* Writes the document once, so that asking for it costs a copy and equal settings have equal texts. */
static int write_document(struct config *config, struct config_refusal *why) {
    struct buf out = BUF_INIT(CONFIG_JSON_MAX);
    struct json_out json;
    json_begin(&json, &out);
    json_object(&json, NULL);
    json_object(&json, "policies");
    for (size_t i = 0; i < config->policy_count; i++) {
        config_policy_write(&json, config->policies[i].name, &config->policies[i]);
    }
    json_end(&json);
    json_end(&json);
    if (out.overflow) {
        buf_free(&out);
        return config_refuse(why, 422, "policies",
                             "the document must have at most %d bytes with all members written out",
                             CONFIG_JSON_MAX);
    }
    config->json_len = out.len;
    config->json = buf_take(&out);
    return 0;
}

struct config *config_build(const cJSON *document, uint64_t version, const char *focus,
                            struct config_refusal *why) {
    if (check_document(document, why) < 0) return NULL;
    const cJSON *policies = cJSON_GetObjectItemCaseSensitive(document, "policies");
    if (check_policies(policies, why) < 0) return NULL;
    struct config *config = xcalloc(1, sizeof *config);
    atomic_init(&config->refs, 1);
    config->version = version;
    if (read_policies(config, policies, why) < 0 || config_paths_index(config, focus, why) < 0 ||
        write_document(config, why) < 0) {
        config_unref(config);
        return NULL;
    }
    return config;
}

struct config *config_parse(const char *json, size_t len, uint64_t version, struct config_refusal *why) {
    cJSON *document = config_tree_parse(json, len, why);
    if (!document) return NULL;
    struct config *config = config_build(document, version, NULL, why);
    cJSON_Delete(document);
    return config;
}

struct config *config_ref(struct config *config) {
    atomic_fetch_add_explicit(&config->refs, 1, memory_order_relaxed);
    return config;
}

void config_unref(struct config *config) {
    if (!config || atomic_fetch_sub_explicit(&config->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < config->policy_count; i++)
        config_policy_release(&config->policies[i]);
    free(config->policies);
    free(config->paths);
    free(config->json);
    free(config);
}

static int compare_name(const char *name, size_t len, const char *other) {
    int order = strncmp(name, other, len);
    return order ? order : -(other[len] != '\0');
}

const struct policy *config_policy(const struct config *config, const char *name, size_t len) {
    if (memchr(name, '\0', len)) return NULL;
    size_t low = 0, high = config->policy_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_name(name, len, config->policies[middle].name);
        if (order == 0) return &config->policies[middle];
        if (order > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

void config_policy_json(const struct config *config, const struct policy *policy, struct buf *out) {
    (void)config; /* whose policy it is */
    struct json_out json;
    json_begin(&json, out);
    config_policy_write(&json, NULL, policy);
}

void config_json(const struct config *config, struct buf *out) {
    buf_addf(out, "{\"version\":%" PRIu64 ",", config->version);
    buf_add(out, config->json + 1, config->json_len - 1); /* behind its '{' */
}
