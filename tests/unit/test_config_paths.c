/* Paths of policies: which are allowed, and which policy covers one. */
#include <stdio.h>
#include <string.h>

#include "base/http_method.h"
#include "config_tests.h"

START_TEST(bad_paths) {
    static const char *const bad[] = {"",       "api",    "/api/",  "//",        "//api",       "/a//b",
                                      "/.",     "/..",    "/a/./b", "/a/..",     "/a?b",        "/a#b",
                                      "/a%20b", "/a\\tb", "*",      "/a\\u007f", "http://x/api"};
    static const char *const good[] = {"/",    "/api", "/...",     "/.a",      "/..a",
                                       "/a.b", "/a b", "/\\u00e9", "/a:b@c;d", "/a\\\\b"};
    struct config *config = minimal();
    char body[1024];
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(body, sizeof body, "{\"paths\":[\"%s\"]}", bad[i]);
        expect_refused(config, CONFIG_PATCH, "default", body, 422, "paths[0]",
                       "must be a path that begins with '/'");
    }
    for (size_t i = 0; i < COUNT(good); i++) {
        snprintf(body, sizeof body, "{\"paths\":[\"%s\"]}", good[i]);
        config = change(config, CONFIG_PATCH, "default", body);
    }
    char path[257] = "/";
    memset(path + 1, 'p', 255);
    snprintf(body, sizeof body, "{\"paths\":[\"%s\"]}", path);
    config = change(config, CONFIG_PATCH, "default", body);
    snprintf(body, sizeof body, "{\"paths\":[\"%sp\"]}", path);
    expect_refused(config, CONFIG_PATCH, "default", body, 422, "paths[0]", "at most 256 bytes");
    config_unref(config);
}
END_TEST

START_TEST(many_paths) {
    struct config *config = minimal();
    for (int count = 32; count <= 33; count++) {
        struct buf body = BUF_INIT(4096);
        buf_adds(&body, "{\"paths\":[");
        for (int i = 0; i < count; i++)
            buf_addf(&body, "%s\"/p%d\"", i ? "," : "", i);
        buf_adds(&body, "]}");
        if (count == 32) {
            config = change(config, CONFIG_PATCH, "default", buf_str(&body));
        } else {
            expect_refused(config, CONFIG_PATCH, "default", buf_str(&body), 422, "paths",
                           "at most 32 paths; got 33");
        }
        buf_free(&body);
    }
    config_unref(config);
}
END_TEST

START_TEST(same_path_twice) {
    struct config *config =
        parse("{\"policies\":{\"default\":{},\"a\":{\"paths\":[\"/a\"]},\"z\":{\"paths\":[\"/z\"]}}}");
    expect_refused(config, CONFIG_PATCH, "default", "{\"paths\":[\"/z\"]}", 422, "paths",
                   "\"/z\", which policy z has");
    expect_refused(config, CONFIG_PATCH, "z", "{\"paths\":[\"/q\",\"/a\"]}", 422, "paths",
                   "\"/a\", which policy a has");
    expect_refused(config, CONFIG_PUT, "new", "{\"paths\":[\"/api\"]}", 422, "paths",
                   "which policy default has");
    expect_refused(config, CONFIG_PATCH, NULL, "{\"policies\":{\"a\":{\"paths\":[\"/z\"]}}}", 422,
                   "policies.z.paths", "which policy a has");
    config_unref(config);
}
END_TEST

START_TEST(longest_path_wins) {
    static const struct {
        const char *path, *policy, *prefix;
    } cases[] = {
        {"/api", "default", "/api"},
        {"/api/", "default", "/api"},
        {"/api/x", "default", "/api"},
        {"/api/x/y", "xy", "/api/x/y"},
        {"/api/x/y/z", "xy", "/api/x/y"},
        {"/api/x/yz", "default", "/api"},
        {"/api/x-y", "xdash", "/api/x-y"},
        {"/api/x-y/z", "xdash", "/api/x-y"},
        {"/api/x-yz", "default", "/api"},
        {"/api!", NULL, NULL},
        {"/apix", NULL, NULL},
        {"/ap", NULL, NULL},
        {"/", NULL, NULL},
        {"/a", NULL, NULL},
        {"/z/q", "xy", "/z"},
        {"/zz", NULL, NULL},
        {"*", NULL, NULL},
        {"", NULL, NULL},
        {"/API", NULL, NULL},
        {"/\xc3\xa9/x", "xdash", "/\xc3\xa9"},
        {"/\xff", NULL, NULL},
    };
    struct config *config =
        parse("{\"policies\":{\"default\":{},\"xy\":{\"paths\":[\"/z\",\"/api/x/y\"]},\"xdash\":{\"paths\":"
              "[\"/api/x-y\",\"/\\u00e9\"]},\"none\":{}}}");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *prefix = NULL;
        const struct policy *policy = config_match(config, cases[i].path, 0, &prefix);
        ck_assert_msg((policy == NULL) == (cases[i].policy == NULL), "%s", cases[i].path);
        if (!policy) continue;
        ck_assert_str_eq(policy->name, cases[i].policy);
        ck_assert_str_eq(prefix, cases[i].prefix);
    }
    config_unref(config);
}
END_TEST

/* The rule itself, without an index: the longest path that is the whole or a segment-wise beginning. */
static const char *longest_by_hand(const struct config *config, const char *path) {
    const char *best = NULL;
    for (size_t i = 0; i < config->policy_count; i++) {
        for (size_t j = 0; j < config->policies[i].path_count; j++) {
            const char *one = config->policies[i].paths[j];
            size_t len = strlen(one);
            bool fits =
                strcmp(one, "/") == 0 || (strncmp(one, path, len) == 0 && (!path[len] || path[len] == '/'));
            if (fits && (!best || len > strlen(best))) best = one;
        }
    }
    return best;
}

/* A path over a small alphabet, so that prefixes and near misses are common. */
static size_t make_path(unsigned *seed, char out[64]) {
    static const char letters[] = "ab-/";
    size_t len = 0;
    out[len++] = '/';
    for (unsigned left = rand_r(seed) % 9; left > 0; left--) {
        char c = letters[(unsigned)rand_r(seed) % 4];
        if (c == '/' && out[len - 1] == '/') c = 'a';
        out[len++] = c;
    }
    while (len > 1 && out[len - 1] == '/')
        len--;
    out[len] = '\0';
    return len;
}

START_TEST(index_equals_the_rule) {
    unsigned seed = 7;
    for (int round = 0; round < 40; round++) {
        struct buf json = BUF_INIT(65536);
        buf_adds(&json, "{\"policies\":{\"default\":{\"paths\":[]}");
        for (int i = 0; i < 40; i++) {
            char path[64];
            make_path(&seed, path);
            buf_addf(&json, ",\"p%d\":{\"paths\":[\"%s\"]}", i, path);
        }
        buf_adds(&json, "}}");
        struct config_refusal why = {0};
        struct config *config = config_parse(buf_str(&json), json.len, 1, &why);
        while (!config) { /* repeated paths are refused: take those policies' paths away, one by one */
            ck_assert_uint_eq(why.status, 422);
            CHECK_CONTAINS(why.err.text, "has already");
            char name[16];
            ck_assert_int_eq(sscanf(why.member, "policies.%15[a-z0-9].paths", name), 1);
            char needle[32];
            snprintf(needle, sizeof needle, "\"%s\":{\"paths\":[\"", name);
            char *at = strstr(json.data, needle) + strlen(needle);
            snprintf(needle, sizeof needle, "/q%s", name);
            char *end = strchr(at, '"');
            struct buf fixed = BUF_INIT(65536);
            buf_add(&fixed, json.data, (size_t)(at - json.data));
            buf_adds(&fixed, needle);
            buf_adds(&fixed, end);
            buf_free(&json);
            json = fixed;
            config = config_parse(buf_str(&json), json.len, 1, &why);
        }
        for (int i = 0; i < 300; i++) {
            char path[64];
            const char *prefix = NULL;
            make_path(&seed, path);
            const char *right = longest_by_hand(config, path);
            const struct policy *policy = config_match(config, path, 0, &prefix);
            ck_assert_msg((policy != NULL) == (right != NULL), "%s", path);
            if (policy) ck_assert_str_eq(prefix, right);
        }
        config_unref(config);
        buf_free(&json);
    }
}
END_TEST

START_TEST(many_policies) {
    struct buf json = BUF_INIT(1 << 20);
    buf_adds(&json, "{\"policies\":{\"default\":{}");
    for (int i = 0; i < 3000; i++)
        buf_addf(&json, ",\"p%d\":{\"paths\":[\"/p/%d\"]}", i * 7 % 3000, i * 7 % 3000);
    buf_adds(&json, "}}");
    struct config *config = parse(buf_str(&json));
    ck_assert_uint_eq(config->policy_count, 3001);
    for (int i = 0; i < 3000; i++) {
        char name[16], path[32];
        const char *prefix = NULL;
        int len = snprintf(name, sizeof name, "p%d", i);
        snprintf(path, sizeof path, "/p/%d/x", i);
        const struct policy *policy = config_policy(config, name, (size_t)len);
        ck_assert_ptr_nonnull(policy);
        ck_assert_str_eq(policy->name, name);
        ck_assert_ptr_eq(config_match(config, path, 0, &prefix), policy);
    }
    ck_assert_ptr_null(config_policy(config, "p", 1));
    ck_assert_ptr_null(config_policy(config, "p1\0", 3));
    ck_assert_ptr_null(config_policy(config, "", 0));
    config_unref(config);
    buf_free(&json);
}
END_TEST

/* The longest path whose policy covers the method; GET covers HEAD, none named covers all. */
START_TEST(methods_choose) {
    static const struct {
        const char *path;
        unsigned method;
        const char *policy, *prefix;
    } cases[] = {
        {"/api/x/y", HTTP_GET, "reads", "/api/x"},
        {"/api/x", HTTP_HEAD, "reads", "/api/x"},
        {"/api/x/y", HTTP_POST, "writes", "/api/x"},
        {"/api/x/y", HTTP_PUT, "writes", "/api/x"},
        {"/api/x/y", HTTP_DELETE, "default", "/api"},
        {"/api/x/y", HTTP_OTHER, "default", "/api"},
        {"/api/x/y", 0, "default", "/api"},
        {"/api/x/d/e", HTTP_DELETE, "deep", "/api/x/d"},
        {"/api/x/d/e", HTTP_POST, "writes", "/api/x"},
        {"/api/x/d/e", HTTP_PATCH, "default", "/api"},
        {"/y", HTTP_GET, NULL, NULL},
        {"/y", HTTP_POST, "alone", "/y"},
    };
    struct config *config = parse("{\"policies\":{\"default\":{},"
                                  "\"reads\":{\"paths\":[\"/api/x\"],\"methods\":[\"GET\"]},"
                                  "\"writes\":{\"paths\":[\"/api/x\"],\"methods\":[\"POST\",\"PUT\"]},"
                                  "\"deep\":{\"paths\":[\"/api/x/d\"],\"methods\":[\"DELETE\"]},"
                                  "\"alone\":{\"paths\":[\"/y\"],\"methods\":[\"POST\"]}}}");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *prefix = NULL;
        const struct policy *policy = config_match(config, cases[i].path, cases[i].method, &prefix);
        ck_assert_msg((policy != NULL) == (cases[i].policy != NULL), "case %zu", i);
        if (!policy) continue;
        ck_assert_str_eq(policy->name, cases[i].policy);
        ck_assert_str_eq(prefix, cases[i].prefix);
    }
    expect_refused(config, CONFIG_PUT, "more", "{\"paths\":[\"/api/x\"],\"methods\":[\"PATCH\",\"PUT\"]}",
                   422, "paths",
                   "paths has \"/api/x\", which policy writes has already, for a method of both");
    expect_refused(config, CONFIG_PUT, "more", "{\"paths\":[\"/api/x\"],\"methods\":[\"HEAD\"]}", 422,
                   "paths", "which policy reads has already");
    expect_refused(config, CONFIG_PUT, "more", "{\"paths\":[\"/y\"]}", 422, "paths",
                   "which policy alone has");
    config = change(config, CONFIG_PUT, "more", "{\"paths\":[\"/api/x\"],\"methods\":[\"PATCH\"]}");
    config_unref(config);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {
        bad_paths,     many_paths,    same_path_twice, longest_path_wins, index_equals_the_rule,
        many_policies, methods_choose};
    TCase *group = tcase_create("config_paths");
    for (size_t i = 0; i < COUNT(tests); i++)
        tcase_add_test(group, tests[i]);
    Suite *suite = suite_create("config_paths");
    suite_add_tcase(suite, group);
    return unit_main(suite);
}
