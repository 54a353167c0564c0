/* The configuration: what a document may hold, how numbers are taken, which words a refusal has. */
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "config_tests.h"

START_TEST(defaults) {
    struct config *config = minimal();
    expect_json(config, "{\"policies\":{\"default\":" DEFAULT_POLICY "}}");
    const struct policy *policy = config_policy(config, "default", 7);
    ck_assert_ptr_nonnull(policy);
    ck_assert_uint_eq(policy->limit_count, 1);
    ck_assert_int_eq(policy->limits[0].params[0], 10 * MICRO);
    ck_assert_int_eq(policy->cost, 1);
    ck_assert_int_eq(policy->cost_max, 10);
    ck_assert_int_eq(policy->on_limit, ON_LIMIT_REJECT);
    ck_assert_int_eq(policy->on_redis_error, ON_REDIS_ERROR_LOCAL);
    ck_assert_str_eq(policy->key_text, "ip:{ip}");
    ck_assert_uint_eq(config->version, 1);
    config_unref(config);
}
END_TEST

START_TEST(writes_what_it_read) {
    struct config *config = parse("{\"version\":7,\"policies\":{\"b\":{\"key\":\"<\\u00e9>:{ip}\",\"paths\":["
                                  "\"/\",\"/b c\"]},\"default\":"
                                  "{\"capacity\":5,\"refill_rate\":0.2,\"refill_interval\":1.5e0,\"cost\":2,"
                                  "\"on_redis_error\":\"closed\"}}}");
    struct config *again = parse(config->json);
    expect_json(again, config->json);
    struct buf all = BUF_INIT(65536), one = BUF_INIT(65536);
    config_json(config, &all);
    struct config *third = parse(buf_str(&all));
    expect_json(third, config->json);
    CHECK_CONTAINS(buf_str(&all), "{\"version\":1,\"policies\":{\"b\":");
    config_policy_json(config, config_policy(config, "default", 7), &one);
    ck_assert_str_eq(buf_str(&one),
                     "{\"paths\":[\"/api\"],\"key\":\"ip:{ip}\",\"algorithm\":\"token_bucket\"," PARAMS(
                         5, 0.2, 1.5) "\"cost\":2,\"on_limit\":\"reject\",\"on_redis_error\":\"closed\"}");
    buf_free(&all);
    buf_free(&one);
    config_unref(config);
    config_unref(again);
    config_unref(third);
}
END_TEST

START_TEST(bad_documents) {
    static const struct {
        const char *json;
        unsigned status;
        const char *member, *words;
    } cases[] = {
        {"", 400, "", "not valid JSON"},
        {"[]", 422, "", "must be an object"},
        {"{}", 422, "policies", "got nothing"},
        {"{\"policies\":null}", 422, "policies", "got null"},
        {"{\"policies\":[]}", 422, "policies", "got an array"},
        {"{\"policies\":{}}", 422, "policies.default", "must always exist"},
        {"{\"policies\":{\"other\":{}}}", 422, "policies.default", "must always exist"},
        {"{\"policies\":{\"default\":null}}", 422, "policies.default", "must be an object; got null"},
        {"{\"policies\":{\"default\":{}},\"x\":1}", 422, "x", "\"x\" is not a member of the document"},
        {"{\"policies\":{\"default\":{}},\"version\":\"1\"}", 422, "version", "got \"1\""},
        {"{\"policies\":{\"default\":{}},\"version\":0}", 422, "version", "got 0"},
        {"{\"policies\":{\"default\":{}},\"version\":1.5}", 422, "version", "got 1.5"},
        {"{\"policies\":{\"default\":{},\"Default\":{}}}", 422, "policies.Default", "got \"Default\""},
        {"{\"policies\":{\"default\":{},\"\":{}}}", 422, "policies.", "got \"\""},
        {"{\"policies\":{\"default\":{},\"-a\":{}}}", 422, "policies.-a", "begin with a letter"},
        {"{\"policies\":{\"default\":{},\"a.b\":{}}}", 422, "policies.a.b", "a-z, 0-9"},
        {"{\"policies\":{\"default\":{\"capacity\":0}}}", 422, "policies.default.capacity",
         "capacity must be a whole number from 1 to 1000000000; got 0"},
        {"{\"policies\":{\"default\":{},\"a\":{\"x\":1}}}", 422, "policies.a.x",
         "x is not a member of a policy"},
        {"{\"policies\":{\"default\":{\"limits\":[]}}}", 422, "policies.default.limits",
         "limits must have 1 to 4 limits; got 0"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct config_refusal why = {0};
        ck_assert_msg(!config_parse(cases[i].json, strlen(cases[i].json), 1, &why), "%s was taken",
                      cases[i].json);
        ck_assert_msg(why.status == cases[i].status, "%s: %u %s", cases[i].json, why.status, why.err.text);
        ck_assert_str_eq(why.member, cases[i].member);
        CHECK_CONTAINS(why.err.text, cases[i].words);
    }
}
END_TEST

START_TEST(policy_names) {
    char name[80], json[256];
    for (size_t len = POLICY_NAME_MAX; len <= POLICY_NAME_MAX + 1; len++) {
        struct config_refusal why = {0};
        memset(name, 'n', len);
        name[len] = '\0';
        snprintf(json, sizeof json, "{\"policies\":{\"default\":{},\"%s\":{}}}", name);
        struct config *config = config_parse(json, strlen(json), 1, &why);
        ck_assert((config != NULL) == (len == POLICY_NAME_MAX));
        config_unref(config);
    }
}
END_TEST

/* case_adm_13, case_adm_18, case_alg_07, case_alg_09, case_alg_10, case_alg_11: as allowed, exactly, or 422.
 */
START_TEST(bad_numbers) {
    static const char *const values[] = {"-1",
                                         "-0",
                                         "0",
                                         "0.0000001",
                                         "1e-320",
                                         "1e18",
                                         "1e400",
                                         "\"5\"",
                                         "\"\"",
                                         "\"5abc\"",
                                         "true",
                                         "false",
                                         "[5]",
                                         "[]",
                                         "{}",
                                         "{\"v\":5}",
                                         "null",
                                         "1000000001",
                                         "1.0000001",
                                         "5.00000000000000000001",
                                         "0.10000000000000001",
                                         "123456789012345678901234567890"};
    static const char *const members[] = {"capacity", "refill_rate", "refill_interval", "cost"};
    struct config *config = minimal();
    for (size_t i = 0; i < COUNT(values); i++) {
        for (size_t j = 0; j < COUNT(members); j++) {
            if (strcmp(values[i], "null") == 0 && strcmp(members[j], "cost") == 0) continue;
            char body[128], got[128], words[64];
            snprintf(body, sizeof body, "{\"%s\":%s}", members[j], values[i]);
            snprintf(words, sizeof words, "%s must be a", members[j]);
            expect_refused(config, CONFIG_PATCH, "default", body, 422, members[j], words);
            snprintf(got, sizeof got, "%s.%s", "policies.default", members[j]);
            snprintf(body, sizeof body, "{\"policies\":{\"default\":{\"%s\":%s}}}", members[j], values[i]);
            expect_refused(config, CONFIG_PATCH, NULL, body, 422, got, words);
        }
    }
    expect_refused(config, CONFIG_PUT, "default", "{\"cost\":null}", 422, "cost", "got null");
    expect_refused(config, CONFIG_PATCH, "default", "{\"capacity\":1.5}", 422, "capacity", "got 1.5");
    expect_refused(config, CONFIG_PATCH, "default", "{\"cost\":11}", 422, "cost", "from 1 to 10; got 11");
    expect_refused(config, CONFIG_PATCH, "default", "{\"capacity\":1e9,\"refill_rate\":0.000001}", 422,
                   "refill_rate", "refill_rate must be at least 3.17098,");
    expect_refused(config, CONFIG_PATCH, "default", "{\"refill_rate\":\"\\u0001\"}", 422, "refill_rate",
                   "got \"\x01\"");
    config_unref(config);
}
END_TEST

/* cJSON itself reads no number of more than 63 characters: it must not end as "not JSON". */
START_TEST(endless_numbers) {
    struct config *config = minimal();
    char body[256];
    for (int zeros = 40; zeros <= 120; zeros += 10) {
        snprintf(body, sizeof body, "{\"capacity\":5.%0*d}", zeros, 1);
        expect_refused(config, CONFIG_PATCH, "default", body, 422, NULL, "must");
    }
    config_unref(config);
}
END_TEST

START_TEST(exact_numbers) {
    static const struct {
        const char *text;
        int64_t micro;
    } cases[] = {{"0.2", 200000},
                 {"0.000001", 1},
                 {"1e-6", 1},
                 {"0.1", 100000},
                 {"999999999.999999", 999999999999999},
                 {"1E9", 1000000000 * MICRO},
                 {"0.30", 300000},
                 {"123.456789", 123456789}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char body[128];
        snprintf(body, sizeof body, "{\"capacity\":1,\"refill_rate\":%s}", cases[i].text);
        struct config *config = change(minimal(), CONFIG_PUT, "default", body);
        ck_assert_int_eq(config_policy(config, "default", 7)->limits[0].params[1], cases[i].micro);
        config_unref(config);
    }
}
END_TEST

static const struct {
    const char *body, *member, *words;
} refusals[] = {
    {"{\"algorithm\":\"tokens\"}", "algorithm", "algorithm must be \"token_bucket\""},
    {"{\"algorithm\":1}", "algorithm", "got 1"},
    {"{\"on_limit\":\"Shadow\"}", "on_limit",
     "on_limit must be \"reject\", \"shadow\" or \"delay\"; got \"Shadow\""},
    {"{\"on_limit\":\"delay\",\"algorithm\":\"fixed_window\"}", "on_limit",
     "\"delay\" cannot be combined with algorithm fixed_window"},
    {"{\"max_delay\":1}", "max_delay", "goes only with on_limit \"delay\""},
    {"{\"on_limit\":\"shadow\",\"max_delay\":1}", "max_delay", "goes only with"},
    {"{\"on_limit\":\"delay\",\"max_delay\":30.000001}", "max_delay", "from 0 to 30"},
    {"{\"on_limit\":\"delay\",\"max_delay\":-1}", "max_delay", "got -1"},
    {"{\"on_limit\":\"delay\",\"max_delay\":0.0000001}", "max_delay", "six decimals"},
    {"{\"on_limit\":\"delay\",\"max_delay\":\"1\"}", "max_delay", "got \"1\""},
    {"{\"methods\":\"GET\"}", "methods", "array of one or more methods, or left out for all; got \"GET\""},
    {"{\"methods\":[]}", "methods", "got an array"},
    {"{\"methods\":[\"GET\",\"get\"]}", "methods[1]", "\"PATCH\", \"DELETE\" or \"OPTIONS\"; got \"get\""},
    {"{\"methods\":[\"GET\",\"POST\",\"GET\"]}", "methods[2]", "names a method twice"},
    {"{\"methods\":[5]}", "methods[0]", "got 5"},
    {"{\"limits\":{}}", "limits", "an array of 1 to 4 limits; got an object"},
    {"{\"limits\":[{},{},{},{},{}]}", "limits", "1 to 4 limits; got 5"},
    {"{\"limits\":[5],\"algorithm\":null}", "limits[0]", "an object with name"},
    {"{\"limits\":[{}]}", "algorithm", "algorithm cannot stand beside limits"},
    {"{\"limits\":[{}],\"algorithm\":null,\"capacity\":5}", "capacity", "cannot stand beside"},
    {"{\"limits\":[{\"name\":\"A\"}],\"algorithm\":null}", "limits[0].name", "got \"A\""},
    {"{\"limits\":[{\"name\":\"a\"},{\"name\":\"a\"}],\"algorithm\":null}", "limits[1].name",
     "\"a\" is there twice"},
    {"{\"limits\":[{},{}],\"algorithm\":null}", "limits[1].name", "\"token_bucket\" is there twice"},
    {"{\"limits\":[{\"algorithm\":\"x\"}],\"algorithm\":null}", "limits[0].algorithm", "got \"x\""},
    {"{\"limits\":[{\"capacity\":0}],\"algorithm\":null}", "limits[0].capacity",
     "limits[0].capacity must be a whole number from 1 to 1000000000; got 0"},
    {"{\"limits\":[{\"capacity\":null}],\"algorithm\":null}", "limits[0].capacity", "got null"},
    {"{\"limits\":[{\"limit\":5}],\"algorithm\":null}", "limits[0].limit",
     "is not a member of a limit with token_bucket, which has name, algorithm, capacity"},
    {"{\"limits\":[{},{\"algorithm\":\"fixed_window\",\"limit\":3}],\"algorithm\":null,\"cost\":4}", "cost",
     "from 1 to 3; got 4"},
    {"{\"limits\":[{},{\"algorithm\":\"fixed_window\"}],\"algorithm\":null,\"on_limit\":\"delay\"}",
     "on_limit", "fixed_window, which has no queue"},
    {"{\"limits\":[{}],\"algorithm\":null,\"x\":1}", "x", "is not a member of a policy with limits"},
    {"{\"on_redis_error\":\"none\"}", "on_redis_error",
     "must be \"local\", \"open\" or \"closed\"; got \"none\""},
    {"{\"on_redis_error\":true}", "on_redis_error", "got true"},
    {"{\"key\":5}", "key", "key must be a template"},
    {"{\"key\":\"\"}", "key", "key must have 1 to 512 bytes"},
    {"{\"key\":\"{user}\"}", "key", "key has the unknown field \"user\" at byte 2"},
    {"{\"key\":\"{ip}{path}\"}", "key", "touch"},
    {"{\"paths\":\"/api\"}", "paths", "an array of paths; got \"/api\""},
    {"{\"paths\":[\"/a\",5]}", "paths[1]", "got 5"},
    {"{\"paths\":[\"/a\",\"/a\"]}", "paths", "\"/a\" twice"},
    {"{\"x\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}", "x",
     "x is not a member"},
    {"{\"on_limit\":\"012345678901234567890123456789012345678901234567\\u00e9\"}", "on_limit",
     "\"012345678901234567890123456789012345678901234567...\""},
    {"{\"on_limit\":\"01234567890123456789012345678901234567890123456\\u00e9\"}", "on_limit",
     "\"01234567890123456789012345678901234567890123456...\""},
};

START_TEST(words) {
    struct config *config = minimal();
    for (size_t i = 0; i < COUNT(refusals); i++) {
        expect_refused(config, CONFIG_PATCH, "default", refusals[i].body, 422, refusals[i].member,
                       refusals[i].words);
    }
    config_unref(config);
}
END_TEST

static const struct policy *policy_of(const struct config *config, const char *name) {
    const struct policy *policy = config_policy(config, name, strlen(name));
    ck_assert_ptr_nonnull(policy);
    return policy;
}

START_TEST(delays) {
    struct config *config = change(minimal(), CONFIG_PATCH, "default", "{\"on_limit\":\"delay\"}");
    ck_assert_int_eq(policy_of(config, "default")->max_delay_us, MICRO);
    config = change(config, CONFIG_PATCH, "default", "{\"max_delay\":2.000001}");
    ck_assert_int_eq(policy_of(config, "default")->max_delay_us, 2000001);
    CHECK_CONTAINS(config->json, "\"on_limit\":\"delay\",\"max_delay\":2.000001,");
    struct config *again = parse(config->json);
    expect_json(again, config->json);
    config_unref(again);
    config = change(config, CONFIG_PATCH, "default",
                    "{\"algorithm\":\"leaky_bucket\",\"max_delay\":30,\"leak_rate\":1000}");
    ck_assert_int_eq(policy_of(config, "default")->max_delay_us, 30 * MICRO);
    expect_refused(config, CONFIG_PATCH, "default", "{\"algorithm\":\"sliding_window_log\"}", 422, "on_limit",
                   "cannot be combined with algorithm sliding_window_log");
    config = change(config, CONFIG_PATCH, "default", "{\"on_limit\":\"shadow\"}");
    ck_assert_ptr_null(strstr(config->json, "max_delay"));
    ck_assert_int_eq(policy_of(config, "default")->on_limit, ON_LIMIT_SHADOW);
    ck_assert_int_eq(policy_of(config, "default")->max_delay_us, 0);
    config = change(config, CONFIG_PATCH, "default", "{\"on_limit\":\"delay\",\"max_delay\":0}");
    config = change(config, CONFIG_PATCH, "default", "{\"on_limit\":null}");
    ck_assert_int_eq(policy_of(config, "default")->on_limit, ON_LIMIT_REJECT);
    config_unref(config);
}
END_TEST

START_TEST(several_limits) {
    static const char body[] =
        "{\"limits\":[{\"name\":\"burst\",\"algorithm\":\"token_bucket\",\"capacity\":5},"
        "{\"name\":\"daily\",\"algorithm\":\"fixed_window\",\"limit\":1000,\"window\":"
        "86400},{\"algorithm\":\"sliding_window_log\",\"limit\":3}],\"cost\":3}";
    struct config *config = change(minimal(), CONFIG_PUT, "many", body);
    const struct policy *policy = policy_of(config, "many");
    ck_assert_uint_eq(policy->limit_count, 3);
    ck_assert_str_eq(policy->limits[0].name, "burst");
    ck_assert_str_eq(policy->limits[1].name, "daily");
    ck_assert_str_eq(policy->limits[2].name, "sliding_window_log");
    ck_assert_int_eq(policy->limits[0].params[0], 5 * MICRO);
    ck_assert_int_eq(policy->limits[1].params[1], 86400 * MICRO);
    ck_assert_int_eq(policy->cost_max, 3);
    CHECK_CONTAINS(
        config->json,
        "\"limits\":[{\"name\":\"burst\",\"algorithm\":\"token_bucket\",\"capacity\":5,\"refill_rate\":1,"
        "\"refill_interval\":1},{\"name\":\"daily\",\"algorithm\":\"fixed_window\",\"limit\":1000,"
        "\"window\":86400},{\"name\":\"sliding_window_log\",");
    struct config *again = parse(config->json);
    expect_json(again, config->json);
    config_unref(again);
    config_unref(config);
}
END_TEST

START_TEST(methods) {
    struct config *config =
        change(minimal(), CONFIG_PUT, "read", "{\"paths\":[\"/api/x\"],\"methods\":[\"POST\",\"GET\"]}");
    CHECK_CONTAINS(config->json, "\"paths\":[\"/api/x\"],\"methods\":[\"GET\",\"POST\"],\"key\"");
    config = change(config, CONFIG_PATCH, "read", "{\"methods\":null}");
    ck_assert_ptr_null(strstr(config->json, "methods"));
    config_unref(config);
}
END_TEST

START_TEST(too_many_policies) {
    struct buf json = BUF_INIT(1 << 20);
    buf_adds(&json, "{\"policies\":{\"default\":{}");
    for (int i = 0; i < 4096; i++)
        buf_addf(&json, ",\"p%d\":{}", i);
    buf_adds(&json, "}}");
    struct config_refusal why = {0};
    ck_assert_ptr_null(config_parse(buf_str(&json), json.len, 1, &why));
    ck_assert_uint_eq(why.status, 422);
    CHECK_CONTAINS(why.err.text, "at most 4096; got 4097");
    buf_free(&json);
}
END_TEST

/* What GET shows must fit the body of a PUT: small bodies that grow when written out are refused, too. */
START_TEST(document_too_large) {
    struct buf json = BUF_INIT(1 << 20);
    buf_adds(&json, "{\"policies\":{\"default\":{}");
    for (int i = 0; i < 4000; i++) {
        buf_addf(&json, ",\"p%d\":{\"key\":\"%0*d\"}", i, 120, i);
    }
    buf_adds(&json, "}}");
    struct config_refusal why = {0};
    ck_assert_ptr_null(config_parse(buf_str(&json), json.len, 1, &why));
    ck_assert_uint_eq(why.status, 422);
    CHECK_CONTAINS(why.err.text, "with all members written out");
    buf_free(&json);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {defaults,
                                  writes_what_it_read,
                                  bad_documents,
                                  policy_names,
                                  bad_numbers,
                                  endless_numbers,
                                  exact_numbers,
                                  words,
                                  delays,
                                  several_limits,
                                  methods,
                                  too_many_policies,
                                  document_too_large};
    TCase *group = tcase_create("config");
    for (size_t i = 0; i < COUNT(tests); i++)
        tcase_add_test(group, tests[i]);
    Suite *suite = suite_create("config");
    suite_add_tcase(suite, group);
    return unit_main(suite);
}
