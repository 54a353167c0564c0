/* The store on a real Redis: changes one after the other, each version published once and answered when
 * acknowledged; several stores on one Redis. */
#include "config/config_store.h"

#include <ev.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "private_redis.h"
#include "unit.h"

enum { PUBLISHED_MAX = 64, STORES_MAX = 3, WAIT_MS = 10000 };

/* A process with one store: a publisher that may keep acknowledgements until they are asked for. */
struct place {
    struct config_store *store;
    bool keep;
    size_t count; /* published */
    uint64_t versions[PUBLISHED_MAX];
    void (*acked[PUBLISHED_MAX])(void *arg);
    void *args[PUBLISHED_MAX];
    size_t kept;
    int settled;
    unsigned instances;
};

static struct private_redis server;
static struct redis_settings redis;
static struct ev_loop *loop;
static struct place places[STORES_MAX];

static void publish(void *arg, struct config *config, void (*acked)(void *acked_arg), void *acked_arg) {
    struct place *place = arg;
    place->versions[place->count++ % PUBLISHED_MAX] = config->version;
    if (!place->keep) {
        acked(acked_arg);
        return;
    }
    place->acked[place->kept] = acked;
    place->args[place->kept++] = acked_arg;
}

static void *caller(void *arg) {
    return arg;
}

static void post(void *arg, void *to, void (*run)(void *run_arg), void *run_arg) {
    ck_assert_ptr_eq(to, arg);
    run(run_arg);
}

static void counted(void *arg, unsigned instances) {
    struct place *place = arg;
    place->instances = instances;
}

static void settled(void *arg) {
    struct place *place = arg;
    place->settled++;
}

static void tick(struct ev_loop *l, ev_timer *timer, int events) {
    (void)l, (void)timer, (void)events;
}

/* Runs the loop until the condition holds; false after WAIT_MS. */
#define UNTIL(condition)                                                                                     \
    do {                                                                                                     \
        int64_t until_ = clock_mono_us() + WAIT_MS * INT64_C(1000);                                          \
        while (!(condition) && clock_mono_us() < until_)                                                     \
            ev_run(loop, EVRUN_ONCE);                                                                        \
        ck_assert_msg((condition), "%s did not come true", #condition);                                      \
    } while (0)

static void open_place(size_t i, int capacity, const char *file) {
    char json[96];
    struct config_refusal why = {0};
    snprintf(json, sizeof json, "{\"policies\":{\"default\":{\"capacity\":%d}}}", capacity);
    struct config *first = config_parse(json, strlen(json), 1, &why);
    ck_assert_ptr_nonnull(first);
    struct place *place = &places[i];
    *place = (struct place){.keep = false};
    struct config_store_settings settings = {
        .first = first,
        .first_source = "--capacity",
        .file = file,
        .loop = loop,
        .redis = &redis,
        .key_prefix = "t:",
        .settled = settled,
        .settled_arg = place,
        .host = {.publish = publish, .caller = caller, .post = post, .counted = counted, .arg = place}};
    place->store = config_store_new(&settings);
    config_unref(first);
    UNTIL(place->settled == 1);
}

static void close_place(size_t i) {
    config_store_free(places[i].store);
    places[i].store = NULL;
}

static ev_timer ticks;

static void set_up(void) {
    loop = ev_loop_new(EVFLAG_AUTO);
    ev_timer_init(&ticks, tick, 0.01, 0.01);
    ev_timer_start(loop, &ticks);
    private_redis_start(&server, NULL, 0);
    redis = (struct redis_settings){.socket_path = server.socket, .timeout_ms = 250};
}

static void tear_down(void) {
    for (size_t i = 0; i < STORES_MAX; i++)
        if (places[i].store) close_place(i);
    ev_timer_stop(loop, &ticks);
    ev_loop_destroy(loop);
    private_redis_stop(&server);
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

static void ask(size_t i, enum config_verb verb, const char *policy, const char *body, uint64_t if_match,
                struct answer *answer) {
    struct config_change change = {verb, policy, body, body ? strlen(body) : 0, false};
    config_store_change(places[i].store, &change, if_match, on_done, answer);
}

static void patch(size_t i, const char *body, uint64_t if_match, struct answer *answer) {
    ask(i, CONFIG_PATCH, "default", body, if_match, answer);
}

static struct answer patched(size_t i, const char *body, uint64_t if_match) {
    struct answer answer = {0};
    patch(i, body, if_match, &answer);
    UNTIL(answer.count == 1);
    return answer;
}

static uint64_t version_of(size_t i) {
    struct config *config = config_store_current(places[i].store);
    uint64_t version = config->version;
    config_unref(config);
    return version;
}

static int64_t capacity_at(size_t i) {
    struct config *config = config_store_current(places[i].store);
    int64_t capacity = capacity_of(config);
    config_unref(config);
    return capacity;
}

START_TEST(answers_when_acknowledged) {
    struct answer answer = {0};
    open_place(0, 5, NULL);
    places[0].keep = true;
    patch(0, "{\"capacity\":20}", CONFIG_ANY_VERSION, &answer);
    UNTIL(places[0].kept == 1);
    ck_assert_int_eq(answer.count, 0);
    ck_assert_uint_eq(version_of(0), 2);
    places[0].acked[0](places[0].args[0]);
    ck_assert_int_eq(answer.count, 1);
    ck_assert_uint_eq(answer.version, 2);
    ck_assert_int_eq(answer.capacity, 20);
}
END_TEST

/* Two changes under way: each is answered with its own version, whichever is acknowledged first. */
START_TEST(changes_overlap) {
    struct answer first = {0}, second = {0};
    open_place(0, 5, NULL);
    places[0].keep = true;
    patch(0, "{\"capacity\":6}", CONFIG_ANY_VERSION, &first);
    patch(0, "{\"refill_rate\":2}", CONFIG_ANY_VERSION, &second);
    UNTIL(places[0].kept == 2);
    places[0].acked[1](places[0].args[1]);
    places[0].acked[0](places[0].args[0]);
    ck_assert_uint_eq(first.version, 2);
    ck_assert_uint_eq(second.version, 3);
    ck_assert_int_eq(second.capacity, 6);
}
END_TEST

START_TEST(nothing_changes) {
    open_place(0, 5, NULL);
    ck_assert_uint_eq(patched(0, "{}", CONFIG_ANY_VERSION).version, 1);
    ck_assert_uint_eq(version_of(0), 1);
    ck_assert_int_eq(private_redis_do(&server, "EXISTS", "t:config", NULL), 0);
}
END_TEST

START_TEST(refusals) {
    open_place(0, 5, NULL);
    struct answer bad = patched(0, "{\"capacity\":0}", CONFIG_ANY_VERSION);
    ck_assert_uint_eq(bad.version, 0);
    ck_assert_uint_eq(bad.why.status, 422);
    ck_assert_str_eq(bad.why.member, "capacity");
    struct answer stale = patched(0, "{\"capacity\":7}", 2);
    ck_assert_uint_eq(stale.why.status, 412);
    CHECK_CONTAINS(stale.why.err.text, "now version 1, not 2");
    ck_assert_uint_eq(version_of(0), 1);
    ck_assert_int_eq(private_redis_do(&server, "EXISTS", "t:config", NULL), 0);
}
END_TEST

/* Two stores that change at once, with the same version in mind: one of them wins. */
START_TEST(if_match) {
    struct answer answers[2] = {{0}};
    open_place(0, 5, NULL);
    open_place(1, 5, NULL);
    patch(0, "{\"capacity\":7}", 1, &answers[0]);
    patch(1, "{\"capacity\":8}", 1, &answers[1]);
    UNTIL(answers[0].count + answers[1].count == 2);
    ck_assert_uint_eq(answers[0].version + answers[1].version, 2);
    ck_assert_uint_eq(answers[0].why.status + answers[1].why.status, 412);
}
END_TEST

/* Without one both are applied, and each store ends with both. */
START_TEST(both_are_applied) {
    struct answer answers[2] = {{0}};
    open_place(0, 5, NULL);
    open_place(1, 6, NULL);
    patch(0, "{\"refill_rate\":7}", CONFIG_ANY_VERSION, &answers[0]);
    patch(1, "{\"refill_interval\":8}", CONFIG_ANY_VERSION, &answers[1]);
    UNTIL(answers[0].count + answers[1].count == 2 && version_of(0) == 3 && version_of(1) == 3);
    struct config *left = config_store_current(places[0].store),
                  *right = config_store_current(places[1].store);
    ck_assert_str_eq(left->json, right->json);
    ck_assert_int_eq(config_policy(left, "default", 7)->limits[0].params[1], 7 * MICRO);
    ck_assert_int_eq(config_policy(left, "default", 7)->limits[0].params[2], 8 * MICRO);
    config_unref(left);
    config_unref(right);
}
END_TEST

START_TEST(reset_to_the_start) {
    struct answer answer = {0};
    open_place(0, 5, NULL);
    open_place(1, 9, NULL);
    ask(0, CONFIG_DELETE, NULL, NULL, CONFIG_ANY_VERSION, &answer);
    UNTIL(answer.count == 1);
    ck_assert_uint_eq(answer.version, 1);
    ask(0, CONFIG_PUT, "other", "{}", CONFIG_ANY_VERSION, &answer);
    UNTIL(answer.count == 2);
    ck_assert(answer.created);
    ck_assert_uint_eq(patched(0, "{\"capacity\":70}", CONFIG_ANY_VERSION).version, 3);
    UNTIL(capacity_at(1) == 70);
    ask(0, CONFIG_DELETE, NULL, NULL, CONFIG_ANY_VERSION, &answer);
    UNTIL(answer.count == 3);
    ck_assert_uint_eq(answer.version, 4);
    ck_assert_int_eq(answer.capacity, 5);
    UNTIL(version_of(1) == 4);
    ck_assert_int_eq(capacity_at(1), 9);
    ask(1, CONFIG_DELETE, NULL, NULL, CONFIG_ANY_VERSION, &answer); /* there is nothing more to take away */
    UNTIL(answer.count == 4);
    ck_assert_uint_eq(answer.version, 4);
}
END_TEST

/* At its start a store uses what is there. */
START_TEST(starts_with_what_is_there) {
    open_place(0, 5, NULL);
    patched(0, "{\"capacity\":70}", CONFIG_ANY_VERSION);
    open_place(1, 9, NULL);
    ck_assert_int_eq(capacity_at(1), 70);
    ck_assert_uint_eq(version_of(1), 2);
    ck_assert_uint_eq(places[1].versions[0], 2);
}
END_TEST

START_TEST(gives_back_what_was_lost) {
    open_place(0, 5, NULL);
    patched(0, "{\"capacity\":70}", CONFIG_ANY_VERSION);
    ck_assert_int_eq(private_redis_do(&server, "DEL", "t:config", NULL), 1);
    UNTIL(private_redis_do(&server, "HEXISTS", "t:config", "document", NULL) == 1);
    ck_assert_uint_eq(version_of(0), 2);
    ck_assert_int_eq(private_redis_do(&server, "HDEL", "t:config", "nonce", NULL), 1);
    UNTIL(private_redis_do(&server, "HEXISTS", "t:config", "nonce", NULL) == 1);
    ck_assert_int_eq(capacity_at(0), 70);
}
END_TEST

/* What cannot be read is not used, not changed, and can be taken away. */
START_TEST(refuses_what_it_cannot_read) {
    struct answer answer = {0};
    open_place(0, 5, NULL);
    patched(0, "{\"capacity\":70}", CONFIG_ANY_VERSION);
    private_redis_do(&server, "HSET", "t:config", "version", "9", "nonce", "abc", "document",
                     "{\"policies\":{\"default\":{\"from_tomorrow\":1}}}", NULL);
    answer = patched(0, "{\"capacity\":71}", CONFIG_ANY_VERSION);
    ck_assert_uint_eq(answer.why.status, 409);
    CHECK_CONTAINS(answer.why.err.text, "from_tomorrow");
    ck_assert_int_eq(capacity_at(0), 70);
    ask(0, CONFIG_DELETE, NULL, NULL, CONFIG_ANY_VERSION, &answer);
    UNTIL(answer.count == 2);
    ck_assert_uint_eq(answer.version, 10);
    ck_assert_int_eq(capacity_at(0), 5);
}
END_TEST

START_TEST(redis_away) {
    open_place(0, 5, NULL);
    private_redis_kill(&server);
    struct answer answer = patched(0, "{\"capacity\":7}", CONFIG_ANY_VERSION);
    ck_assert_uint_eq(answer.why.status, 503);
    CHECK_CONTAINS(answer.why.err.text, "Redis");
    ck_assert_int_eq(capacity_at(0), 5);
    open_place(1, 5, NULL); /* settles without */
    private_redis_restart(&server);
    UNTIL(patched(0, "{\"capacity\":8}", CONFIG_ANY_VERSION).version == 2);
    UNTIL(capacity_at(1) == 8);
}
END_TEST

START_TEST(file_is_the_only_source) {
    open_place(0, 5, "policies.json");
    open_place(1, 6, NULL);
    struct answer answer = patched(0, "{\"capacity\":7}", CONFIG_ANY_VERSION);
    ck_assert_uint_eq(answer.why.status, 409);
    CHECK_CONTAINS(answer.why.err.text, "policies.json");
    patched(1, "{\"capacity\":7}", CONFIG_ANY_VERSION);
    UNTIL(places[0].instances == 2);
    ck_assert_int_eq(capacity_at(0), 5);
}
END_TEST

START_TEST(instances_are_counted) {
    open_place(0, 5, NULL);
    ck_assert_uint_eq(config_store_instances(places[0].store), 1);
    open_place(1, 5, NULL);
    UNTIL(places[0].instances == 2 && config_store_instances(places[1].store) == 2);
    close_place(1);
    UNTIL(config_store_instances(places[0].store) == 1);
}
END_TEST

START_TEST(forgets_are_counted) {
    open_place(0, 5, NULL);
    open_place(1, 5, NULL);
    uint64_t before = config_store_forgets(places[1].store);
    config_store_forget(places[0].store);
    UNTIL(config_store_forgets(places[1].store) != before);
    ck_assert_int_gt(config_store_looked_us(places[1].store), 0);
    ck_assert_uint_eq(version_of(1), 1); /* a hash with a counter alone holds no configuration */
    ck_assert_uint_eq(patched(0, "{\"capacity\":7}", CONFIG_ANY_VERSION).version, 2);
}
END_TEST

/* Freed with a change on its way: nobody is answered, nothing leaks. */
START_TEST(freed_in_between) {
    struct answer answers[2] = {{0}};
    open_place(0, 5, NULL);
    patch(0, "{\"capacity\":7}", CONFIG_ANY_VERSION, &answers[0]);
    patch(0, "{\"capacity\":8}", CONFIG_ANY_VERSION, &answers[1]);
    ev_run(loop, EVRUN_NOWAIT);
    close_place(0);
    ck_assert_int_eq(answers[0].count + answers[1].count, 0);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {answers_when_acknowledged,
                                  changes_overlap,
                                  nothing_changes,
                                  refusals,
                                  if_match,
                                  both_are_applied,
                                  reset_to_the_start,
                                  starts_with_what_is_there,
                                  gives_back_what_was_lost,
                                  refuses_what_it_cannot_read,
                                  redis_away,
                                  file_is_the_only_source,
                                  instances_are_counted,
                                  forgets_are_counted,
                                  freed_in_between};
    TCase *all = tcase_create("config_store");
    tcase_set_timeout(all, 30);
    tcase_add_checked_fixture(all, set_up, tear_down);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(all, tests[i]);
    Suite *suite = suite_create("config_store");
    suite_add_tcase(suite, all);
    return unit_main(suite);
}
