/* The store: changes one after the other, each version published once and answered when acknowledged. */
#include "config/config_store.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "unit.h"

enum { PUBLISHED_MAX = 64 };

/* A publisher that keeps acknowledgements until they are asked for. */
struct publisher {
    bool at_once;
    size_t count;
    uint64_t versions[PUBLISHED_MAX];
    void (*acked[PUBLISHED_MAX])(void *arg);
    void *args[PUBLISHED_MAX];
};

static void publish(void *publisher, struct config *config, void (*acked)(void *arg), void *arg) {
    struct publisher *p = publisher;
    size_t i = p->count++ % PUBLISHED_MAX;
    p->versions[i] = config->version;
    p->acked[i] = acked;
    p->args[i] = arg;
    if (p->at_once) acked(arg);
}

struct answer {
    int count;
    bool created;
    uint64_t version; /* 0: refused */
    int64_t capacity; /* of default */
    struct config_refusal why;
};

static int64_t capacity_of(const struct config *config) {
    return limit_units(&config_policy(config, "default", 7)->limits[0]);
}

static void on_done(void *arg, struct config *config, bool created, const struct config_refusal *why) {
    struct answer *answer = arg;
    answer->count++;
    answer->created = created;
    answer->version = config ? config->version : 0;
    answer->capacity = config ? capacity_of(config) : 0;
    if (why) answer->why = *why;
}

static struct config_store *new_store(struct publisher *publisher) {
    static const char json[] = "{\"policies\":{\"default\":{\"capacity\":5}}}";
    struct config_refusal why = {0};
    struct config *first = config_parse(json, sizeof json - 1, 1, &why);
    ck_assert_ptr_nonnull(first);
    struct config_store *store = config_store_new(first, publish, publisher);
    config_unref(first);
    return store;
}

static void patch(struct config_store *store, const char *body, uint64_t if_match, struct answer *answer) {
    struct config_change change = {CONFIG_PATCH, "default", body, strlen(body)};
    config_store_change(store, &change, if_match, on_done, answer);
}

static uint64_t version_of(struct config_store *store) {
    struct config *config = config_store_current(store);
    uint64_t version = config->version;
    config_unref(config);
    return version;
}

START_TEST(answers_when_acknowledged) {
    struct publisher publisher = {0};
    struct config_store *store = new_store(&publisher);
    struct answer answer = {0};
    patch(store, "{\"capacity\":20}", CONFIG_ANY_VERSION, &answer);
    ck_assert_int_eq(answer.count, 0);
    ck_assert_uint_eq(publisher.count, 1);
    ck_assert_uint_eq(version_of(store), 2);
    publisher.acked[0](publisher.args[0]);
    ck_assert_int_eq(answer.count, 1);
    ck_assert_uint_eq(answer.version, 2);
    ck_assert_int_eq(answer.capacity, 20);
    config_store_free(store);
}
END_TEST

/* Two changes under way: each is answered with its own version, whichever is acknowledged first. */
START_TEST(changes_overlap) {
    struct publisher publisher = {0};
    struct config_store *store = new_store(&publisher);
    struct answer first = {0}, second = {0};
    patch(store, "{\"capacity\":6}", CONFIG_ANY_VERSION, &first);
    patch(store, "{\"refill_rate\":2}", CONFIG_ANY_VERSION, &second);
    ck_assert_uint_eq(publisher.versions[0], 2);
    ck_assert_uint_eq(publisher.versions[1], 3);
    publisher.acked[1](publisher.args[1]);
    publisher.acked[0](publisher.args[0]);
    ck_assert_uint_eq(first.version, 2);
    ck_assert_uint_eq(second.version, 3);
    ck_assert_int_eq(second.capacity, 6);
    config_store_free(store);
}
END_TEST

START_TEST(nothing_changes) {
    struct publisher publisher = {0};
    struct config_store *store = new_store(&publisher);
    struct answer answer = {0};
    patch(store, "{}", CONFIG_ANY_VERSION, &answer);
    ck_assert_int_eq(answer.count, 1);
    ck_assert_uint_eq(answer.version, 1);
    ck_assert_uint_eq(publisher.count, 0);
    config_store_free(store);
}
END_TEST

START_TEST(refusals) {
    struct publisher publisher = {0};
    struct config_store *store = new_store(&publisher);
    struct answer bad = {0}, stale = {0};
    patch(store, "{\"capacity\":0}", CONFIG_ANY_VERSION, &bad);
    ck_assert_int_eq(bad.count, 1);
    ck_assert_uint_eq(bad.version, 0);
    ck_assert_uint_eq(bad.why.status, 422);
    ck_assert_str_eq(bad.why.member, "capacity");
    patch(store, "{\"capacity\":7}", 2, &stale);
    ck_assert_uint_eq(stale.why.status, 412);
    CHECK_CONTAINS(stale.why.err.text, "now version 1, not 2");
    ck_assert_uint_eq(publisher.count, 0);
    ck_assert_uint_eq(version_of(store), 1);
    config_store_free(store);
}
END_TEST

START_TEST(if_match) {
    struct publisher publisher = {.at_once = true};
    struct config_store *store = new_store(&publisher);
    struct answer first = {0}, second = {0};
    patch(store, "{\"capacity\":7}", 1, &first);
    patch(store, "{\"capacity\":8}", 1, &second);
    ck_assert_uint_eq(first.version, 2);
    ck_assert_uint_eq(second.why.status, 412);
    config_store_free(store);
}
END_TEST

START_TEST(reset_to_the_start) {
    struct publisher publisher = {.at_once = true};
    struct config_store *store = new_store(&publisher);
    struct answer answer = {0};
    struct config_change reset = {CONFIG_DELETE, NULL, NULL, 0}, put = {CONFIG_PUT, "other", "{}", 2};
    config_store_change(store, &reset, CONFIG_ANY_VERSION, on_done, &answer);
    ck_assert_uint_eq(answer.version, 1);
    config_store_change(store, &put, CONFIG_ANY_VERSION, on_done, &answer);
    ck_assert(answer.created);
    patch(store, "{\"capacity\":70}", CONFIG_ANY_VERSION, &answer);
    config_store_change(store, &reset, CONFIG_ANY_VERSION, on_done, &answer);
    ck_assert_uint_eq(answer.version, 4);
    ck_assert_int_eq(answer.capacity, 5);
    struct config *config = config_store_current(store);
    ck_assert_uint_eq(config->policy_count, 1);
    config_unref(config);
    config_store_free(store);
}
END_TEST

/* `done` may use the store, even when the publisher acknowledges before it returns. */
static void change_again(void *arg, struct config *config, bool created, const struct config_refusal *why) {
    (void)created, (void)why;
    struct config_store *store = arg;
    struct answer answer = {0};
    ck_assert_uint_eq(version_of(store), config->version);
    patch(store, "{\"capacity\":9}", config->version, &answer);
    ck_assert_uint_eq(answer.version, 3);
}

START_TEST(done_may_change_again) {
    struct publisher publisher = {.at_once = true};
    struct config_store *store = new_store(&publisher);
    struct config_change change = {CONFIG_PATCH, "default", "{\"capacity\":8}", 14};
    config_store_change(store, &change, CONFIG_ANY_VERSION, change_again, store);
    ck_assert_uint_eq(version_of(store), 3);
    config_store_free(store);
}
END_TEST

enum { THREADS = 4, ROUNDS = 100 };

struct writer {
    pthread_t thread;
    struct config_store *store;
    const char *member;
};

/* Each thread counts one member up; a lost change would show in the end. */
static void *write_many(void *arg) {
    struct writer *writer = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        char body[64];
        struct answer answer = {0};
        snprintf(body, sizeof body, "{\"%s\":%d}", writer->member, i + 10);
        patch(writer->store, body, CONFIG_ANY_VERSION, &answer);
        struct config *config = config_store_current(writer->store);
        if (answer.count != 1 || config->version < answer.version) abort();
        config_unref(config);
    }
    return NULL;
}

START_TEST(no_change_is_lost) {
    static const char *const members[] = {"capacity", "refill_rate", "refill_interval", "capacity"};
    struct publisher publisher = {.at_once = true};
    struct config_store *store = new_store(&publisher);
    struct writer writers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.store = store, .member = members[i]};
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL, write_many, &writers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(writers[i].thread, NULL);
    struct config *config = config_store_current(store);
    const struct limit_settings *limit = &config_policy(config, "default", 7)->limits[0];
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(limit->params[i], (ROUNDS + 10) * MICRO);
    ck_assert_uint_eq(config->version, publisher.count + 1);
    config_unref(config);
    config_store_free(store);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("config_store");
    tcase_add_test(tests, answers_when_acknowledged);
    tcase_add_test(tests, changes_overlap);
    tcase_add_test(tests, nothing_changes);
    tcase_add_test(tests, refusals);
    tcase_add_test(tests, if_match);
    tcase_add_test(tests, reset_to_the_start);
    tcase_add_test(tests, done_may_change_again);
    tcase_add_test(tests, no_change_is_lost);
    Suite *suite = suite_create("config_store");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
