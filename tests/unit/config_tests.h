/* What the tests of the configuration share: making a snapshot, changing it, expecting a refusal. */
#ifndef RL_TESTS_CONFIG_TESTS_H
#define RL_TESTS_CONFIG_TESTS_H

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "unit.h"

#define DEFAULT_REST "\"cost\":1,\"on_limit\":\"reject\",\"on_redis_error\":\"local\"}"
#define PARAMS(capacity, rate, interval)                                                                     \
    "\"capacity\":" #capacity ",\"refill_rate\":" #rate ",\"refill_interval\":" #interval ","
#define POLICY(paths, capacity, rate, interval)                                                              \
    "{\"paths\":[" paths                                                                                     \
    "],\"key\":\"ip:{ip}\",\"algorithm\":\"token_bucket\"," PARAMS(capacity, rate, interval) DEFAULT_REST
#define DEFAULT_POLICY POLICY("\"/api\"", 10, 1, 1)

static inline struct config *parse(const char *json) {
    struct config_refusal why = {0};
    struct config *config = config_parse(json, strlen(json), 1, &why);
    ck_assert_msg(config != NULL, "%s: %u %s: %s", json, why.status, why.member, why.err.text);
    return config;
}

static inline struct config *minimal(void) {
    return parse("{\"policies\":{\"default\":{}}}");
}

static inline void expect_json(const struct config *config, const char *right) {
    ck_assert_str_eq(config->json, right);
    ck_assert_uint_eq(config->json_len, strlen(right));
}

static inline struct config *apply(struct config *current, enum config_verb verb, const char *policy,
                                   const char *body, bool *created, struct config_refusal *why) {
    struct config_change change = {verb, policy, body, body ? strlen(body) : 0, false};
    *why = (struct config_refusal){0};
    return config_apply(current, &change, created, why);
}

/* Applies and lets go of the old one. */
static inline struct config *change(struct config *current, enum config_verb verb, const char *policy,
                                    const char *body) {
    struct config_refusal why;
    bool created;
    struct config *next = apply(current, verb, policy, body, &created, &why);
    ck_assert_msg(next != NULL, "%s: %u %s: %s", body ? body : "DELETE", why.status, why.member,
                  why.err.text);
    config_unref(current);
    return next;
}

static inline void expect_refused(struct config *current, enum config_verb verb, const char *policy,
                                  const char *body, unsigned status, const char *member, const char *words) {
    struct config_refusal why;
    bool created;
    char before[4096];
    snprintf(before, sizeof before, "%s", current->json);
    struct config *next = apply(current, verb, policy, body, &created, &why);
    ck_assert_msg(!next, "%s was taken", body);
    ck_assert_msg(why.status == status, "%s: %u %s: %s", body, why.status, why.member, why.err.text);
    if (member) ck_assert_str_eq(why.member, member);
    CHECK_CONTAINS(why.err.text, words);
    ck_assert(!created);
    ck_assert_str_eq(current->json, before);
}

#endif
