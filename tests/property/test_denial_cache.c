/* The cache of denials makes no difference: random histories are decided twice, with it and without it, and
 * every request gets the same answer. In the place of Redis stands the arithmetic in memory, and time is
 * passed in.
 *
 * SEED=N repeats a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/denial_cache.h"
#include "limit/exact.h"
#include "limit/local_decision.h"
#include "unit/chance.h"
#include "unit/unit.h"

enum { HISTORIES = 1200, STEPS = 120, CLIENTS = 2 };

/* Two worlds with the same requests: [0] asks Redis always, [1] has the cache. */
static struct {
    struct limit_settings limits[LIMITS_MAX];
    size_t count;
    struct algorithm_state states[2][CLIENTS][LIMITS_MAX];
    struct denial_cache *cache;
    struct denial_news news;
    int64_t cost_max, max_delay_us;
    int64_t now_us;    /* monotonic, ours */
    int64_t redis_us;  /* how far Redis's clock is ahead */
    char policies[64]; /* addresses that tell snapshots apart */
    size_t policy;
} world;

static long hits, asked, refused;

static void random_limits(void) {
    size_t param;
    world.count = (size_t)(one_in(4) ? between(2, LIMITS_MAX) : 1);
    world.cost_max = INT64_MAX;
    world.max_delay_us = one_in(4) ? between(0, 3 * MICRO) : 0;
    for (size_t i = 0; i < world.count; i++) {
        struct limit_settings *limit = &world.limits[i];
        do {
            limit_settings_default(limit, algorithms[between(0, (int64_t)algorithm_count - 1)]);
            limit->params[0] = between(1, 12) * MICRO;
            for (size_t p = 1; p < limit->algorithm->param_count; p++)
                if (!limit->algorithm->params[p].whole)
                    limit->params[p] =
                        exact_max(limit->algorithm->params[p].min,
                                  exact_min(limit->algorithm->params[p].max, between(1000, 5 * MICRO)));
        } while (limit_settings_check(limit, &param, NULL));
        if (!limit->algorithm->can_delay) world.max_delay_us = 0;
        world.cost_max = exact_min(world.cost_max, limit_cost_max(limit));
    }
}

static void forget_states(void) {
    for (int w = 0; w < 2; w++)
        for (int c = 0; c < CLIENTS; c++)
            for (int i = 0; i < LIMITS_MAX; i++)
                algorithm_state_free(&world.states[w][c][i]);
}

static struct decision ask_redis(int w, int client, int64_t cost, bool at_once, int64_t at_us) {
    struct algorithm_state *states[LIMITS_MAX];
    const struct local_request request = {.now_us = at_us + world.redis_us,
                                          .cost = cost,
                                          .max_delay_us = world.max_delay_us,
                                          .at_once = at_once,
                                          .take = true};
    struct decision decision;
    for (size_t i = 0; i < world.count; i++)
        states[i] = &world.states[w][client][i];
    local_decide(world.limits, world.count, states, &request, &decision);
    decision.source = SOURCE_REDIS;
    return decision;
}

/* The waits of a cached denial are those of Redis, or longer by what the reply was under way. */
static void check_numbers(const struct decision *cached, const struct decision *right, int64_t slack_us) {
    ck_assert_int_eq(cached->source, SOURCE_CACHE);
    for (size_t i = 0; i < world.count; i++) {
        const struct limit_state *a = &cached->limits[i], *b = &right->limits[i];
        ck_assert_msg(a->remaining <= b->remaining, "limit %zu: %lld left, not %lld; SEED=%llu", i,
                      (long long)a->remaining, (long long)b->remaining, (unsigned long long)chance_seed);
        ck_assert_int_ge(a->retry_after_us + slack_us, b->retry_after_us);
        ck_assert_int_le(a->retry_after_us, b->retry_after_us + slack_us);
        ck_assert_int_le(a->reset_after_us, b->reset_after_us + slack_us);
    }
}

static void request(int client) {
    int64_t cost = one_in(3) ? 1 : between(1, world.cost_max),
            way = between(0, 900); /* less than the margin */
    int64_t back = between(20, 2500), sent = world.now_us;
    bool at_once = world.max_delay_us > 0 && one_in(3);
    const char *const keys[CLIENTS] = {"{ip:10.0.0.1}", "{ip:10.0.0.2}"};
    const struct denial_request what = {.policy = &world.policies[world.policy],
                                        .key = keys[client],
                                        .key_len = strlen(keys[client]),
                                        .cost = cost};
    struct decision cached, right = ask_redis(0, client, cost, at_once, sent + way);
    bool hit = !at_once && denial_cache_find(world.cache, &what, &world.news, sent, &cached);
    if (hit) {
        hits++;
        check_numbers(&cached, &right, 6000);
    } else {
        cached = ask_redis(1, client, cost, at_once, sent + way);
        world.now_us += way + back;
        if (!at_once)
            denial_cache_keep(world.cache, &what, &cached, denial_cache_age(world.cache), sent, world.now_us);
    }
    asked++;
    refused += right.outcome == DECISION_DENIED;
    ck_assert_msg(cached.outcome == right.outcome, "request %ld: %d with the cache, %d without; SEED=%llu",
                  asked, (int)cached.outcome, (int)right.outcome, (unsigned long long)chance_seed);
}

/* Smaller, larger, slower or faster; what the parameters may not be together stays as it was. */
static void change_settings(void) {
    struct limit_settings *limit = &world.limits[between(0, (int64_t)world.count - 1)], before = *limit;
    size_t which = (size_t)between(0, (int64_t)limit->algorithm->param_count - 1), param;
    if (which == 0)
        limit->params[0] = between(1, 12) * MICRO;
    else if (!limit->algorithm->params[which].whole)
        limit->params[which] = exact_max(limit->algorithm->params[which].min, between(1000, 5 * MICRO));
    if (limit_settings_check(limit, &param, NULL)) *limit = before;
    if (world.max_delay_us > 0) world.max_delay_us = between(1, 3 * MICRO);
    world.cost_max = INT64_MAX;
    for (size_t i = 0; i < world.count; i++)
        world.cost_max = exact_min(world.cost_max, limit_cost_max(&world.limits[i]));
}

/* What the world is told of: other settings, a client forgotten, Redis back. And polls that fail. */
static void event(void) {
    switch (between(0, 3)) {
    case 0:
        change_settings();
        world.policy = (world.policy + 1) % sizeof world.policies;
        denial_cache_clear(world.cache);
        break;
    case 1:
        forget_states();
        world.news.forgets++;
        break;
    case 2: /* deleted by hand: nobody tells, but after a second nothing is remembered */
        forget_states();
        world.now_us += 1000001;
        return;
    default:
        forget_states();
        denial_cache_clear(world.cache);
        break;
    }
    world.news.looked_us = world.now_us;
}

static void history(void) {
    world.now_us = between(1, 1000) * MICRO;
    world.redis_us = 1700000000 * MICRO + between(0, MICRO);
    world.news = (struct denial_news){.forgets = 1, .looked_us = world.now_us};
    denial_cache_clear(world.cache);
    forget_states();
    random_limits();
    int64_t pace = between(1, 4) * (one_in(2) ? 100 : 20000);
    for (int step = 0; step < STEPS; step++) {
        if (one_in(40)) event();
        if (!one_in(8)) world.news.looked_us = world.now_us;
        request((int)between(0, CLIENTS - 1));
        world.now_us += one_in(20) ? between(0, 2 * MICRO) : between(0, pace);
    }
}

START_TEST(the_cache_makes_no_difference) {
    world.cache = denial_cache_new(8);
    for (int i = 0; i < HISTORIES; i++)
        history();
    printf("%ld requests, %ld denied, %ld of them from the cache\n", asked, refused, hits);
    ck_assert_int_gt(hits, refused / 10);
    ck_assert_int_gt(asked - refused, asked / 20);
    forget_states();
    denial_cache_free(world.cache);
}
END_TEST

/* --- one entry --- */

static struct denial_cache *small;
static const struct denial_request one = {.policy = "p", .key = "{k}", .key_len = 3, .cost = 1};
static const struct denial_news fresh = {.forgets = 7, .looked_us = 1};

static struct decision denial(int64_t wait_us) {
    return (struct decision){.outcome = DECISION_DENIED,
                             .source = SOURCE_REDIS,
                             .cost = 1,
                             .count = 1,
                             .limits = {{0, wait_us, wait_us, wait_us}}};
}

static bool found(int64_t now_us) {
    struct decision decision;
    return denial_cache_find(small, &one, &fresh, now_us, &decision);
}

static void keep(const struct decision *decision, int64_t sent_us, int64_t now_us) {
    small = denial_cache_new(1);
    ck_assert(!found(1));
    denial_cache_keep(small, &one, decision, denial_cache_age(small), sent_us, now_us);
}

START_TEST(ends_before_the_wait_does) {
    struct decision decision = denial(200000);
    keep(&decision, 1000, 2000);
    ck_assert(found(2000));
    ck_assert(found(1000 + 200000 - 1000 - 200 - 1));
    ck_assert(!found(1000 + 200000 - 1000 - 200));
    denial_cache_free(small);
}
END_TEST

START_TEST(ends_after_a_second) {
    struct decision decision = denial(60000000);
    keep(&decision, 1000, 2000);
    ck_assert(found(999999));
    ck_assert(!found(1001000)); /* and the last look is too long ago */
    denial_cache_free(small);
}
END_TEST

START_TEST(counts_waits_from_the_reply) {
    struct decision decision = denial(200000), now;
    keep(&decision, 1000, 2000);
    ck_assert(denial_cache_find(small, &one, &fresh, 52000, &now));
    ck_assert_int_eq(now.source, SOURCE_CACHE);
    ck_assert_int_eq(now.limits[0].retry_after_us, 150000);
    ck_assert_int_eq(now.limits[0].reset_after_us, 150000);
    denial_cache_free(small);
}
END_TEST

START_TEST(only_certain_denials_are_kept) {
    struct decision slow = denial(200000), cheap = slow, local = slow, allowed = slow, brief = denial(1000);
    cheap.limits[0].wait_one_us = 0;
    local.source = SOURCE_LOCAL;
    allowed.outcome = DECISION_ALLOWED;
    keep(&slow, 1000, 5001); /* under way for too long */
    ck_assert(!found(5001));
    denial_cache_free(small);
    const struct decision *const others[] = {&cheap, &local, &allowed, &brief};
    for (size_t i = 0; i < 4; i++) {
        keep(others[i], 1000, 1500);
        ck_assert(!found(1500));
        denial_cache_free(small);
    }
}
END_TEST

START_TEST(others_are_not_answered) {
    struct decision decision = denial(200000), out;
    keep(&decision, 1000, 2000);
    struct denial_request other[] = {one, one, one};
    other[0].cost = 2;
    other[1].policy = "q";
    other[2].key = "{l}";
    for (size_t i = 0; i < 3; i++)
        ck_assert(!denial_cache_find(small, &other[i], &fresh, 3000, &out));
    ck_assert(found(3000));
    struct denial_news more = {.forgets = 8, .looked_us = 1};
    ck_assert(!denial_cache_find(small, &one, &more, 3000, &out));
    ck_assert(!denial_cache_find(small, &one, &more, 3000, &out)); /* gone, not only passed over */
    denial_cache_free(small);
}
END_TEST

START_TEST(a_reply_from_before_a_change_is_not_kept) {
    struct decision decision = denial(200000);
    small = denial_cache_new(1);
    found(1);
    uint64_t age = denial_cache_age(small);
    denial_cache_clear(small);
    denial_cache_keep(small, &one, &decision, age, 1000, 2000);
    ck_assert(!found(2000));
    denial_cache_free(small);
}
END_TEST

int main(void) {
    chance_begin();
    Suite *suite = suite_create("denial_cache");
    TCase *tcase = tcase_create("cache");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, the_cache_makes_no_difference);
    tcase_add_test(tcase, ends_before_the_wait_does);
    tcase_add_test(tcase, ends_after_a_second);
    tcase_add_test(tcase, counts_waits_from_the_reply);
    tcase_add_test(tcase, only_certain_denials_are_kept);
    tcase_add_test(tcase, others_are_not_answered);
    tcase_add_test(tcase, a_reply_from_before_a_change_is_not_kept);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
