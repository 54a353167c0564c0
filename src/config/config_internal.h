/* What the files of the configuration share among themselves: trees, refusals, policies, the index of paths.
 *
 * Nobody outside includes this; cJSON stays behind it. Pure, any thread. */
#ifndef RL_CONFIG_CONFIG_INTERNAL_H
#define RL_CONFIG_CONFIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "base/json_out.h"
#include "config/config.h"

enum {
    CONFIG_POLICIES_MAX = 4096,
    CONFIG_JSON_MAX =
        1024 * 1024 - 64,  /* with its version it still fits the largest body, so a GET can be PUT back */
    CONFIG_PATHS_MAX = 32, /* of one policy */
    CONFIG_PATH_BYTES_MAX = 256
};

/* --- config_refusal.c --- */

/* Fills `why`. Returns -1. */
int config_refuse(struct config_refusal *why, unsigned status, const char *member, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

enum { CONFIG_GOT_MAX = 80 };

/* What a value was, for an error text: 0.5, "text" (long ones cut), true, null, an array, an object. */
void config_got(const cJSON *value, char out[CONFIG_GOT_MAX]);

/* --- config_tree.c --- */

/* Text to a tree, in which each number has its text as written in `valuestring`: `valuedouble` has lost what
 * a double cannot hold. NULL and `why` (400, or 422 for an absurd number) if it is refused. Free with
 * cJSON_Delete. */
cJSON *config_tree_parse(const char *text, size_t len, struct config_refusal *why);

/* A number, exactly, in millionths. False if it is none, or none that millionths can hold. */
bool config_tree_micro(const cJSON *value, int64_t *micro);

/* --- config_policy.c --- */

enum { CONFIG_ALLOWED_MAX = 320 };

/* A policy being read, and where to say why it is refused. */
struct reading {
    struct policy *policy;
    struct config_refusal *why;
};

/* Refuses a member of the policy; `words` follow its name. Returns -1. */
int config_policy_refuse(struct reading *r, const char *member, const char *words);
int config_policy_refuse_value(struct reading *r, const char *member, const cJSON *value,
                               const char *allowed);

/* Names of policies and of limits: [a-z0-9][a-z0-9_-]{0,63}. */
bool config_name_is_valid(const char *name);
extern const char config_name_allowed[]; /* the same in words that follow "must have" */

/* Reads one policy into `policy` (zeroed before). What the object leaves out takes its default. Returns 0, or
 * -1 and `why`; config_policy_release in either case. */
int config_policy_read(struct policy *policy, const char *name, const cJSON *object,
                       struct config_refusal *why);
void config_policy_write(struct json_out *json, const char *member, const struct policy *policy);
void config_policy_release(struct policy *policy);

/* May a merge patch take this member away by `null`? */
bool config_policy_may_lack(const char *member);

/* --- config_limits.c --- */

/* Reads `algorithm` and its parameters, or `limits` in their place. */
int config_limits_read(struct reading *r, const cJSON *object);
void config_limits_write(struct json_out *json, const struct policy *policy);

/* Is this a member that `limits` stands in place of: `algorithm` or a parameter of any? */
bool config_limits_replace(const char *member);

/* --- config_paths.c --- */

/* Is this a path as http's canonical ones are, and so one that can match? */
bool config_path_is_canonical(const char *path);
extern const char config_path_allowed[]; /* the same in words */

/* Builds the index of all policies' paths. Returns 0, or -1 and `why` when two policies cover the same. Of
 * the two `focus` is named (NULL: the later by name). */
int config_paths_index(struct config *config, const char *focus, struct config_refusal *why);

/* --- config.c --- */

/* Builds a snapshot from a tree, which is left as it is. */
struct config *config_build(const cJSON *document, uint64_t version, const char *focus,
                            struct config_refusal *why);

#endif
