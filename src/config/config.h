/* The configuration: an immutable, counted snapshot of all policies, and the document it was read from.
 *
 * A snapshot is built aside and swapped in when whole. Any thread may read one it holds a reference to. */
#ifndef RL_CONFIG_CONFIG_H
#define RL_CONFIG_CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "limit/policy.h"

struct config {
    atomic_uint refs;
    uint64_t version; /* 1 at the start */
    char *json; /* the document, compact JSON, every member spelled out: {"policies":{...}}; no "version" */
    size_t json_len;
    size_t policy_count;
    struct policy *policies;  /* sorted by name */
    struct path_entry *paths; /* private: sorted index of paths */
    size_t path_entry_count;
};

/* Why a document or a change was refused, in the terms of an HTTP answer. */
struct config_refusal {
    unsigned status;  /* 400 not JSON or not unambiguous, 404 no such policy, 409, 412, 422 not a valid
                         setting, 503 */
    char member[256]; /* JSON path of the member, "policies.default.capacity"; "" if there is none */
    struct err err;   /* "capacity must be a whole number from 1 to 1000000000; got 0" */
};

/* A document is {"policies":{NAME:{...},...}} and always has the policy `default`. Of a policy every member
 * may be left out and then has its default: paths (["/api"] of `default`, [] of others), methods (all), key
 * ("ip:{ip}"), algorithm ("token_bucket") and its parameters, or in their place limits, cost (1), on_limit
 * ("reject"), max_delay (1, with on_limit "delay" only), on_redis_error. Unknown members are refused. Numbers
 * are taken exactly as written or refused. "version" may stand beside "policies", as GET shows it.
 *
 * Builds a snapshot from a document, with one reference for the caller; "version" in it is not used. NULL and
 * `why` filled if it is not valid. */
struct config *config_parse(const char *json, size_t len, uint64_t version, struct config_refusal *why);

enum config_verb { CONFIG_PUT, CONFIG_PATCH, CONFIG_DELETE };

struct config_change {
    enum config_verb verb;
    const char *policy; /* name; NULL: the whole document */
    const char *body;   /* JSON; NULL for DELETE */
    size_t body_len;
    bool absent; /* 412 if the policy is there */
};

/* Applies a change to `current` and builds the next snapshot (version + 1), leaving `current` as it is.
 * Returns `current` itself, with one more reference, when nothing would change. `*created` tells that a PUT
 * made a new policy. NULL and `why` filled on refusal. Pure, any thread.
 *
 * PUT replaces the whole: what is left out has its default, not its old value.
 * PATCH is JSON Merge Patch (RFC 7396): null takes a member back to its default, and a policy of the document
 * away; key, algorithm and parameters are required, so null is refused (422). Of a changed `algorithm`, what
 * is left out takes that algorithm's defaults and the old one's members go; "limits" with "algorithm":null
 * takes their place, "limits":null goes back; max_delay goes with on_limit "delay". DELETE of a policy: 404
 * if there is none, 409 for `default`; the whole document: 409 (config_store.h resets it). A document's
 * "version", if it has one, must be that of `current` (412). `why->member` begins with "policies.NAME." for a
 * document and without it for one policy. */
struct config *config_apply(struct config *current, const struct config_change *change, bool *created,
                            struct config_refusal *why);

struct config *config_ref(struct config *config); /* returns it */
void config_unref(struct config *config);         /* frees with the last reference; NULL is fine */

const struct policy *config_policy(const struct config *config, const char *name, size_t len);

/* The policy with the longest path that is a segment-wise prefix of the canonical `path` and covers `method`
 * (a bit of http's method enum; 0 when unknown). `*prefix` is set to that path. NULL if none. */
const struct policy *config_match(const struct config *config, const char *path, unsigned method,
                                  const char **prefix);

/* Appends one policy as JSON object, as in the document; the document with "version" first. */
void config_policy_json(const struct config *config, const struct policy *policy, struct buf *out);
void config_json(const struct config *config, struct buf *out);

#endif
