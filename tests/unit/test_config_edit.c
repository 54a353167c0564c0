/* Changes of the configuration: PUT, PATCH, DELETE, and what they must leave alone. */
#include <stdio.h>
#include <string.h>

#include "config_tests.h"

/* case_adm_07: a patch changes what it names and nothing else. */
START_TEST(patch_is_a_merge) {
    struct config *config = minimal();
    config =
        change(config, CONFIG_PATCH, "default", "{\"capacity\":7,\"refill_rate\":3,\"refill_interval\":2}");
    config = change(config, CONFIG_PATCH, "default", "{\"capacity\":9}");
    expect_json(config, "{\"policies\":{\"default\":" POLICY("\"/api\"", 9, 3, 2) "}}");
    ck_assert_uint_eq(config->version, 3);
    config = change(config, CONFIG_PATCH, NULL, "{\"policies\":{\"default\":{\"refill_rate\":0.5}}}");
    expect_json(config, "{\"policies\":{\"default\":" POLICY("\"/api\"", 9, 0.5, 2) "}}");
    expect_refused(config, CONFIG_PATCH, "default", "", 400, "", "not valid JSON");
    expect_refused(config, CONFIG_PATCH, "default", "{\"capacitiy\":1}", 422, "capacitiy", "is not a member");
    expect_refused(config, CONFIG_PATCH, "default", "{\"Capacity\":1}", 422, "Capacity", "is not a member");
    expect_refused(config, CONFIG_PATCH, "default", "{\"x\":null}", 422, "x", "is not a member");
    config_unref(config);
}
END_TEST

START_TEST(no_change_no_version) {
    static const struct {
        enum config_verb verb;
        const char *policy, *body;
    } cases[] = {
        {CONFIG_PATCH, "default", "{}"},
        {CONFIG_PATCH, "default", "{\"capacity\":10}"},
        {CONFIG_PATCH, "default", "{\"capacity\":1e1,\"refill_rate\":1.0}"},
        {CONFIG_PATCH, "default", "{\"algorithm\":\"token_bucket\"}"},
        {CONFIG_PATCH, "default", "{\"cost\":null,\"paths\":null,\"on_limit\":null,\"on_redis_error\":null}"},
        {CONFIG_PATCH, NULL, "{}"},
        {CONFIG_PATCH, NULL, "{\"version\":1}"},
        {CONFIG_PATCH, NULL, "{\"policies\":{}}"},
        {CONFIG_PATCH, NULL, "{\"policies\":{\"absent\":null}}"},
        {CONFIG_PUT, "default", "{}"},
        {CONFIG_PUT, NULL, "{\"version\":1,\"policies\":{\"default\":{}}}"},
    };
    struct config *config = minimal();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct config_refusal why;
        bool created;
        struct config *next = apply(config, cases[i].verb, cases[i].policy, cases[i].body, &created, &why);
        ck_assert_msg(next == config, "case %zu: %s", i, why.err.text);
        ck_assert(!created);
        config_unref(next);
    }
    ck_assert_uint_eq(config->refs, 1);
    config_unref(config);
}
END_TEST

/* Another algorithm begins anew: what the patch leaves out has that algorithm's default. */
START_TEST(another_algorithm) {
    struct config *config = change(minimal(), CONFIG_PATCH, "default", "{\"capacity\":7}");
    config = change(config, CONFIG_PATCH, "default", "{\"algorithm\":\"fixed_window\",\"window\":60}");
    CHECK_CONTAINS(config->json, "\"algorithm\":\"fixed_window\",\"limit\":10,\"window\":60,\"cost\"");
    expect_refused(config, CONFIG_PATCH, "default", "{\"capacity\":7}", 422, "capacity", "is not a member");
    config = change(config, CONFIG_PATCH, "default", "{\"limit\":3,\"window\":5}");
    config = change(config, CONFIG_PATCH, "default", "{\"algorithm\":\"sliding_window_log\",\"limit\":4}");
    CHECK_CONTAINS(config->json, "\"algorithm\":\"sliding_window_log\",\"limit\":4,\"window\":10,\"cost\"");
    config = change(config, CONFIG_PATCH, "default", "{\"algorithm\":\"leaky_bucket\"}");
    CHECK_CONTAINS(config->json, "\"algorithm\":\"leaky_bucket\",\"capacity\":10,\"leak_rate\":1,\"cost\"");
    config_unref(config);
}
END_TEST

START_TEST(limits_and_back) {
    static const char *const to_limits[] = {
        "{\"limits\":[{\"name\":\"a\"},{\"name\":\"b\",\"capacity\":4}],\"algorithm\":null}",
        "{\"limits\":[{\"name\":\"a\"},{\"name\":\"b\",\"capacity\":4}],\"algorithm\":null,\"capacity\":null,"
        "\"refill_rate\":null,\"refill_interval\":null}"};
    for (size_t i = 0; i < COUNT(to_limits); i++) {
        struct config *config = change(minimal(), CONFIG_PATCH, "default", to_limits[i]);
        ck_assert_uint_eq(config_policy(config, "default", 7)->limit_count, 2);
        ck_assert_ptr_null(strstr(config->json, "\"key\":\"ip:{ip}\",\"algorithm\""));
        expect_refused(config, CONFIG_PATCH, "default", "{\"algorithm\":\"fixed_window\"}", 422, "algorithm",
                       "beside limits");
        expect_refused(config, CONFIG_PATCH, "default", "{\"algorithm\":null}", 422, "algorithm", "beside");
        config = change(config, CONFIG_PATCH, "default", "{\"limits\":null,\"capacity\":3}");
        expect_json(config, "{\"policies\":{\"default\":" POLICY("\"/api\"", 3, 1, 1) "}}");
        config_unref(config);
    }
    struct config *config = minimal();
    expect_refused(config, CONFIG_PATCH, "default", "{\"limits\":null,\"algorithm\":null}", 422, "algorithm",
                   "got null");
    expect_refused(config, CONFIG_PATCH, "default", "{\"capacity\":null}", 422, "capacity", "got null");
    config_unref(config);
}
END_TEST

START_TEST(put_replaces_whole) {
    struct config *config = minimal();
    config = change(config, CONFIG_PATCH, "default", "{\"capacity\":7,\"paths\":[\"/v1\"],\"cost\":3}");
    config = change(config, CONFIG_PUT, "default", "{\"refill_rate\":2}");
    expect_json(config, "{\"policies\":{\"default\":" POLICY("\"/api\"", 10, 2, 1) "}}");
    config = change(config, CONFIG_PUT, NULL, "{\"policies\":{\"default\":{\"capacity\":4},\"a\":{}}}");
    expect_json(config, "{\"policies\":{\"a\":" POLICY("", 10, 1, 1) ",\"default\":" POLICY("\"/api\"", 4, 1,
                                                                                            1) "}}");
    ck_assert_uint_eq(config->version, 4);
    config_unref(config);
}
END_TEST

START_TEST(policies_come_and_go) {
    struct config *config = minimal();
    struct config_refusal why;
    bool created = false;
    struct config *next = apply(config, CONFIG_PUT, "other", "{\"capacity\":3}", &created, &why);
    ck_assert_ptr_nonnull(next);
    ck_assert(created);
    config_unref(config);
    config = next;
    next = apply(config, CONFIG_PUT, "other", "{\"capacity\":4}", &created, &why);
    ck_assert_ptr_nonnull(next);
    ck_assert(!created);
    config_unref(config);
    config = next;
    expect_refused(config, CONFIG_PATCH, "absent", "{}", 404, "", "no policy absent");
    expect_refused(config, CONFIG_DELETE, "absent", NULL, 404, "", "no policy absent");
    expect_refused(config, CONFIG_DELETE, "default", NULL, 409, "", "must always exist");
    expect_refused(config, CONFIG_DELETE, NULL, NULL, 409, "", "only replaced");
    expect_refused(config, CONFIG_PUT, "No", "{}", 422, "", "a policy's name");
    expect_refused(config, CONFIG_PATCH, NULL, "{\"policies\":{\"default\":null}}", 422, "policies.default",
                   "must always");
    config = change(config, CONFIG_DELETE, "other", NULL);
    expect_json(config, "{\"policies\":{\"default\":" DEFAULT_POLICY "}}");
    config = change(config, CONFIG_PATCH, NULL, "{\"policies\":{\"n\":{\"capacity\":2,\"cost\":null}}}");
    config = change(config, CONFIG_PATCH, NULL, "{\"policies\":{\"n\":null}}");
    expect_json(config, "{\"policies\":{\"default\":" DEFAULT_POLICY "}}");
    config_unref(config);
}
END_TEST

START_TEST(version_in_a_body) {
    struct config *config = minimal();
    expect_refused(config, CONFIG_PATCH, NULL, "{\"version\":2,\"policies\":{}}", 412, "version",
                   "now version 1; got 2");
    expect_refused(config, CONFIG_PUT, NULL, "{\"version\":2,\"policies\":{\"default\":{}}}", 412, "version",
                   "got 2");
    expect_refused(config, CONFIG_PUT, NULL, "{\"version\":null,\"policies\":{\"default\":{}}}", 422,
                   "version", "got null");
    expect_refused(config, CONFIG_PATCH, "default", "{\"version\":1}", 422, "version", "is not a member");
    config =
        change(config, CONFIG_PATCH, NULL, "{\"version\":1,\"policies\":{\"default\":{\"capacity\":3}}}");
    ck_assert_uint_eq(config->version, 2);
    config_unref(config);
}
END_TEST

/* case_adm_09, case_adm_11, case_adm_12: one unambiguous JSON object or nothing. */
START_TEST(bodies_that_are_no_object) {
    static const struct {
        const char *body;
        unsigned status;
    } cases[] = {
        {"{\"capacity\":5,\"capacity\":500}", 400},
        {"{\"capacity\":500,\"capacity\":\"5\"}", 400},
        {"{\"capacity\":5}x", 400},
        {"{\"capacity\":5}{\"capacity\":6}", 400},
        {"{\"capacity\":5}}", 400},
        {"", 400},
        {"  ", 400},
        {"\xef\xbb\xbf{}", 400},
        {"{\"capacity\":007}", 400},
        {"{\"capacity\":5.}", 400},
        {"{\"capacity\":NaN}", 400},
        {"{\"capacity\":Infinity}", 400},
        {"{\"capacity\":-Infinity}", 400},
        {"{\"capacity\\u0000z\":5}", 400},
        {"5", 422},
        {"\"x\"", 422},
        {"[]", 422},
        {"null", 422},
        {"true", 422},
    };
    struct config *config = minimal();
    for (size_t i = 0; i < COUNT(cases); i++) {
        static const struct {
            enum config_verb verb;
            const char *policy;
        } targets[] = {
            {CONFIG_PATCH, "default"}, {CONFIG_PUT, "default"}, {CONFIG_PATCH, NULL}, {CONFIG_PUT, NULL}};
        for (size_t j = 0; j < COUNT(targets); j++) {
            expect_refused(config, targets[j].verb, targets[j].policy, cases[i].body, cases[i].status, "",
                           "");
        }
    }
    char deep[2 * 1000 + 1];
    for (size_t depth = 999; depth <= 1000; depth++) {
        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        deep[2 * depth] = '\0';
        expect_refused(config, CONFIG_PATCH, "default", deep, 400, "", "not valid JSON");
    }
    struct config_change nul = {CONFIG_PATCH, "default", "{\"capacity\":5}\0x", 16, false};
    struct config_refusal why = {0};
    bool created;
    ck_assert_ptr_null(config_apply(config, &nul, &created, &why));
    ck_assert_uint_eq(why.status, 400);
    config_unref(config);
}
END_TEST

/* case_adm_18: null is no setting; where a default is allowed it means the default. */
START_TEST(required_members) {
    static const char *const required[] = {"key", "algorithm", "capacity", "refill_rate", "refill_interval"};
    struct config *config = minimal();
    for (size_t i = 0; i < COUNT(required); i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"%s\":null}", required[i]);
        expect_refused(config, CONFIG_PATCH, "default", body, 422, required[i], "got null");
        expect_refused(config, CONFIG_PUT, "default", body, 422, required[i], "got null");
    }
    config = change(config, CONFIG_PATCH, "default",
                    "{\"paths\":[\"/x\"],\"cost\":2,\"on_redis_error\":\"closed\"}");
    config =
        change(config, CONFIG_PATCH, "default", "{\"paths\":null,\"cost\":null,\"on_redis_error\":null}");
    expect_json(config, "{\"policies\":{\"default\":" DEFAULT_POLICY "}}");
    config_unref(config);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {patch_is_a_merge,  no_change_no_version,      put_replaces_whole,
                                  another_algorithm, limits_and_back,           policies_come_and_go,
                                  version_in_a_body, bodies_that_are_no_object, required_members};
    TCase *group = tcase_create("config_edit");
    for (size_t i = 0; i < COUNT(tests); i++)
        tcase_add_test(group, tests[i]);
    Suite *suite = suite_create("config_edit");
    suite_add_tcase(suite, group);
    return unit_main(suite);
}
