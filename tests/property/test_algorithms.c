/* Random histories of all algorithms, alone and together: the script in a real Redis against the same
 * arithmetic in memory, to the last digit of every number; and both against what they promise and what a
 * limit means.
 *
 * Time is passed in. SEED=N repeats a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "limit/exact.h"
#include "limit/local_decision.h"
#include "unit/admissions.h"
#include "unit/history.h"
#include "unit/spy_script.h"

enum { DECISIONS = 200000 /* at least, a run */ };

#define LATEST (EXACT - 1000000000000000LL) /* so far may the clock get: three times ten years are left */

static long denials, delays, changes, switches, expiries, mendings;

/* --- settings --- */

static int64_t random_param(const struct param *param) {
    int64_t value = one_in(12) ? param->min : one_in(12) ? param->max : spread(param->min, param->max);
    if (one_in(3)) value = param->fallback;
    if (param->whole || one_in(3)) value -= value % MICRO;
    return exact_max(value, param->min);
}

static void random_limit(struct limit_settings *limit, const struct algorithm *algorithm) {
    size_t param;
    for (int tries = 0; tries < 100; tries++) {
        limit_settings_default(limit, algorithm);
        for (size_t i = 0; i < algorithm->param_count; i++)
            limit->params[i] = random_param(&algorithm->params[i]);
        if (limit_settings_check(limit, &param, NULL) == 0) return;
    }
    limit_settings_default(limit, algorithm);
}

static void settle_bounds(void) {
    client.cost_max = INT64_MAX;
    for (size_t i = 0; i < client.count; i++) {
        const struct limit_settings *limit = &client.limits[i];
        client.cost_max = exact_min(client.cost_max, limit_cost_max(limit));
        int64_t longest = limit->algorithm->can_delay ? limit->algorithm->delay_max_us(limit->params) : 0;
        client.max_delay_us = exact_min(client.max_delay_us, longest);
    }
}

static void change_settings(void) {
    if (one_in(4)) {
        client.max_delay_us = one_in(2) ? 0 : spread(1, 30 * MICRO);
        settle_bounds();
        return;
    }
    struct limit_settings *limit = &client.limits[between(0, (int64_t)client.count - 1)];
    struct limit_settings changed = *limit;
    size_t i = (size_t)between(0, (int64_t)limit->algorithm->param_count - 1), param;
    const struct param *what = &limit->algorithm->params[i];
    changed.params[i] =
        one_in(2) ? random_param(what) : exact_max(what->min, changed.params[i] / between(1, 4));
    if (what->whole) changed.params[i] = exact_max(what->min, changed.params[i] - changed.params[i] % MICRO);
    if (limit_settings_check(&changed, &param, NULL)) return;
    *limit = changed;
    settle_bounds();
    changes++;
}

/* --- decisions in memory --- */

static struct decision decide_at(int64_t now_us, int64_t cost, bool take) {
    struct algorithm_state *states[LIMITS_MAX];
    const struct local_request request = {.now_us = now_us,
                                          .cost = cost,
                                          .max_delay_us = client.max_delay_us,
                                          .at_once = client.at_once,
                                          .take = take};
    struct decision decision;
    for (size_t i = 0; i < client.count; i++)
        states[i] = &client.states[i];
    local_decide(client.limits, client.count, states, &request, &decision);
    return decision;
}

static struct moment moment_at(size_t i, int64_t now_us) {
    return (struct moment){client.limits[i].params, now_us, client.max_delay_us};
}

static int64_t ttl_at(size_t i, int64_t now_us) {
    struct moment at = moment_at(i, now_us);
    return client.limits[i].algorithm->ttl(&at, &client.states[i]);
}

static int64_t left_at(size_t i, int64_t now_us) {
    struct moment at = moment_at(i, now_us);
    return client.limits[i].algorithm->fits(&at, &client.states[i]) / MICRO;
}

static int64_t wait_at(size_t i, int64_t now_us, int64_t units) {
    struct moment at = moment_at(i, now_us);
    return client.limits[i].algorithm->wait(&at, &client.states[i], units * MICRO);
}

/* Nobody waits longer than these settings can explain, whatever the settings were before. */
static int64_t longest_for_one(size_t i) {
    const struct limit_settings *limit = &client.limits[i];
    int64_t window = limit->algorithm->window_us(limit->params);
    if (strcmp(limit->algorithm->name, "sliding_window_counter") == 0) return 2 * window;
    if (client.max_delay_us == 0) return window;
    return window + client.max_delay_us + exact_max(1, limit->params[2]); /* the refill that is under way */
}

/* Every wait is enough, and a microsecond less is not. */
static void check_promises(const struct decision *decision, int64_t cost) {
    int64_t now = client.now_us, retry = 0;
    for (size_t i = 0; i < client.count; i++) {
        const struct limit_state *state = &decision->limits[i];
        int64_t units = limit_units(&client.limits[i]), reset = now + state->reset_after_us;
        int64_t one = now + state->wait_one_us, ttl = ttl_at(i, now), over = longest_wait();
        retry = exact_max(retry, state->retry_after_us);
        SAY(state->remaining >= 0 && state->remaining <= units, "%lld", (long long)state->remaining);
        if (reset > now) {
            SAY(left_at(i, reset - 1) == state->remaining, "reset %lld", (long long)state->reset_after_us);
            SAY(left_at(i, reset) > state->remaining, "reset %lld", (long long)state->reset_after_us);
        } else {
            SAY(state->remaining == units, "%lld left, no reset", (long long)state->remaining);
        }
        SAY(wait_at(i, one, 1) <= over && (one == now || wait_at(i, one - 1, 1) > over), "one %lld",
            (long long)state->wait_one_us);
        SAY(now < client.latest_us || wait_at(i, now, 1) <= longest_for_one(i), "one waits %lld",
            (long long)wait_at(i, now, 1));
        SAY(ttl >= 0 && left_at(i, now + ttl) == units, "ttl %lld", (long long)ttl);
        SAY(ttl == 0 || wait_at(i, now + ttl - 1, units) > 0, "ttl %lld", (long long)ttl);
    }
    if (decision->outcome == DECISION_ALLOWED) return;
    SAY(retry > 0, "denied, %lld", (long long)retry);
    struct decision early = decide_at(now + retry - 1, cost, false),
                    then = decide_at(now + retry, cost, false);
    SAY(early.outcome == DECISION_DENIED, "retry %lld", (long long)retry);
    /* Of several limits one may hold a state that is untrue for a clock that went back, and true again then.
     */
    SAY(then.outcome == DECISION_ALLOWED || (client.count > 1 && client.now_us < client.latest_us),
        "retry %lld", (long long)retry);
    if (client.at_once || !one_in(4)) return;
    history_ask(true, "look", cost, now + retry - 1)->decision = early;
    history_ask(true, "look", cost, now + retry)->decision = then;
}

/* --- one step of a history --- */

/* The second key of a limit goes when Redis would let it go at the earliest. It must make no difference. */
static void expire(void) {
    if (client.now_us < client.latest_us)
        return; /* what a clock that went back takes for untrue may be true again */
    client.latest_us = client.now_us;
    for (size_t i = 0; i < client.count; i++) {
        if (client.states[i].count == 0 || ttl_at(i, client.now_us) > 0) continue;
        history_command("DEL", client.expiring[i], NULL, NULL, NULL, NULL);
        expiries++;
    }
}

/* After a change of settings, and when the clock went back, old and new rules about it differ
 * (docs/algorithms.md). */
static void make_equal(void) {
    for (size_t i = 0; i < client.count; i++) {
        history_command("DEL", client.expiring[i], NULL, NULL, NULL, NULL);
        history_command("COPY", client.kept[i], client.expiring[i], "REPLACE", NULL, NULL);
    }
}

static void break_key(void) {
    static const char *const nonsense[][5] = {{"SET", "text"},
                                              {"HSET", "tokens", "1"},
                                              {"HSET", "count", "-1", "window_start"},
                                              {"RPUSH", "1"},
                                              {"ZADD", "17", "not:a member"},
                                              {"HSET", "level", "1e3", "last_leak"},
                                              {"HSET", "12", "nan"},
                                              {"HSET", "17.5x", "4"},
                                              {"ZADD", "inf", "0000000000000001:1"},
                                              {"ZADD", "5", "0000000000000001:2"}};
    size_t i = (size_t)between(0, (int64_t)client.count - 1);
    const char *const *words = nonsense[between(0, 9)];
    bool log = strcmp(client.limits[i].algorithm->name, "sliding_window_log") == 0;
    bool counter = strcmp(client.limits[i].algorithm->name, "sliding_window_counter") == 0;
    bool hash = strcmp(words[0], "HSET") == 0;
    if (hash && !log && !counter) return; /* fields of other names are nobody's nonsense */
    client.broken[i] = true;
    algorithm_state_free(&client.states[i]);
    history_command("DEL", client.kept[i], NULL, NULL, NULL, NULL);
    history_command(words[0], client.kept[i], words[1], words[2], words[3], words[3] ? "7" : NULL);
    make_equal();
}

static void move_clock(const struct decision *last) {
    const struct limit_settings *limit = &client.limits[between(0, (int64_t)client.count - 1)];
    int64_t window = limit->algorithm->window_us(limit->params);
    const struct limit_state *state = &last->limits[last->binding];
    int64_t ahead = 0;
    switch (between(0, 11)) {
    case 0:
    case 1:
    case 2:
        break;
    case 3:
        ahead = state->retry_after_us;
        break;
    case 4:
        ahead = exact_max(0, state->retry_after_us - 1);
        break;
    case 5:
        ahead = state->reset_after_us;
        break;
    case 6:
        ahead = exact_max(0, state->reset_after_us - 1);
        break;
    case 7:
        ahead = between(0, window / limit_units(limit));
        break;
    case 8:
        ahead = between(0, window / 4);
        break;
    case 9:
        ahead = between(0, 3 * window);
        break;
    case 10:
        ahead = spread(1, window + 1000);
        break;
    default:
        ahead = client.count ? exact_max(0, ttl_at(0, client.now_us) - between(0, 1)) : 0;
        break;
    }
    if (!client.calm && one_in(12)) ahead = -between(0, one_in(3) ? 2 * window : window / 3);
    if (client.now_us + ahead < 0 || client.now_us + ahead > LATEST) ahead = 0;
    client.now_us += ahead;
    if (ahead < 0) make_equal();
}

static int64_t random_cost(void) {
    if (one_in(2)) return exact_min(client.cost_max, exact_max(1, client.cost_max / between(2, 12)));
    return one_in(2) ? 1 : one_in(4) ? client.cost_max : spread(1, client.cost_max);
}

/* What the script must write after this decision. */
static void expect_writes(struct expected *right, const char *mode, bool taken) {
    right->whole = true;
    right->writes_max = taken ? 5 * (int64_t)client.count : 0;
    right->writes_min = taken ? (int64_t)client.count : 0;
    for (size_t i = 0; i < client.count; i++) {
        int64_t ttl = ttl_at(i, client.now_us), ttl_ms = exact_max(1, exact_ceil(ttl, 1000));
        int64_t left = exact_max(0, client.expires_ms[i] - client.now_us / 1000);
        bool needed = client.states[i].count > 0 && (left + 1) * 1000 - client.now_us % 1000 < ttl;
        bool look = strcmp(mode, "look") == 0;
        right->ttl_ms[i] = taken || (needed && !look) ? ttl_ms : -1;
        if (right->ttl_ms[i] > 0) client.expires_ms[i] = client.now_us / 1000 + ttl_ms;
        if (client.broken[i] && !taken && !look) {
            right->writes_max++; /* it is deleted */
            right->writes_min++;
        }
        if (client.broken[i] && !look) mendings++;
        if (!look) client.broken[i] = false;
    }
}

static struct decision decide_once(const char *mode, int64_t cost) {
    bool take = strcmp(mode, "take") == 0 || strcmp(mode, "now") == 0;
    client.at_once = strcmp(mode, "now") == 0;
    struct decision decision = decide_at(client.now_us, cost, take);
    bool admitted = decision.outcome == DECISION_ALLOWED;
    for (int kept = 1; kept >= !client.twin; kept--) {
        struct expected *right = history_ask(kept, mode, cost, client.now_us);
        right->decision = decision;
        if (kept) expect_writes(right, mode, take && admitted);
    }
    check_promises(&decision, cost);
    decisions++;
    denials += !admitted;
    delays += decision.delayed_us > 0;
    return decision;
}

/* A limit whose name stays keeps its key too, with what another algorithm wrote. That must mean nothing, nor
 * mean something again when the algorithm is the old one again. */
static void change_algorithm(void) {
    size_t changed = (size_t)between(0, (int64_t)client.count - 1);
    const struct algorithm *algorithm = client.limits[changed].algorithm;
    while (algorithm == client.limits[changed].algorithm)
        algorithm = algorithms[between(0, (int64_t)algorithm_count - 1)];
    random_limit(&client.limits[changed], algorithm);
    settle_bounds();
    for (size_t i = 0; i < client.count; i++) {
        algorithm_state_free(&client.states[i]);
        if (i != changed) history_command("DEL", client.kept[i], NULL, NULL, NULL, NULL);
        if (i != changed) client.broken[i] = false;
    }
    make_equal();
    struct decision decision = decide_once("take", 1);
    SAY(decision.outcome == DECISION_ALLOWED && decision.delayed_us == 0, "%s", "a new client");
    switches++;
}

static struct decision step(const struct decision *last) {
    static const char *const modes[] = {"peek", "look", "now", "take"};
    move_clock(last);
    if (!client.calm && one_in(15)) {
        change_settings();
        make_equal();
    }
    if (!client.calm && one_in(60)) break_key();
    if (!client.calm && one_in(60)) change_algorithm();
    expire();
    const char *mode = modes[exact_min(3, between(0, 9))];
    int64_t cost = random_cost();
    struct decision decision = decide_once(mode, cost);
    if (decision.outcome == DECISION_ALLOWED && mode != modes[0] && mode != modes[1])
        admissions_add(client.now_us, cost);
    return decision;
}

/* --- histories --- */

static void begin_history(size_t count, const struct algorithm *const *chosen) {
    static int number;
    memset(&client, 0, sizeof client);
    client.count = count;
    client.calm = one_in(2);
    client.twin = one_in(2);
    client.now_us = one_in(4) ? between(0, 1000000000000) : 1700000000000000 + between(0, 100000000000000);
    client.max_delay_us = client.calm || one_in(2) ? 0 : spread(1, 30 * MICRO);
    admissions_begin();
    number++;
    for (size_t i = 0; i < count; i++) {
        random_limit(&client.limits[i], chosen[i]);
        snprintf(client.kept[i], KEY_BYTES, "k%d:%zu", number, i);
        snprintf(client.expiring[i], KEY_BYTES, "e%d:%zu", number, i);
    }
    settle_bounds();
}

static void run_history(size_t count, const struct algorithm *const *chosen) {
    begin_history(count, chosen);
    struct decision last = {.count = 0};
    for (client.step = 0; client.step < STEPS; client.step++) {
        last = step(&last);
        compare_many();
    }
    for (size_t i = 0; i < count; i++)
        history_command("UNLINK", client.kept[i], client.expiring[i], NULL, NULL, NULL);
    compare_all();
    for (size_t i = 0; i < count; i++) {
        if (client.calm) admissions_check(&client.limits[i]);
        algorithm_state_free(&client.states[i]);
    }
}

static void random_history(size_t count) {
    const struct algorithm *chosen[LIMITS_MAX];
    for (size_t i = 0; i < count; i++)
        chosen[i] = algorithms[between(0, (int64_t)algorithm_count - 1)];
    run_history(count, chosen);
}

START_TEST(one_limit) {
    while (decisions < DECISIONS * 3 / 4) {
        for (size_t i = 0; i < algorithm_count; i++)
            run_history(1, &algorithms[i]);
    }
    ck_assert_int_gt(denials, decisions / 20);
    ck_assert(delays > 100 && changes > 100 && switches > 100 && expiries > 100 && mendings > 100);
}
END_TEST

START_TEST(several_limits) {
    while (decisions < DECISIONS) {
        random_history(2);
        random_history((size_t)between(2, LIMITS_MAX));
    }
}
END_TEST

/* At most a thousand old entries go in one call, here as there; what has not gone counts again in a longer
 * window. */
START_TEST(a_long_log_is_cleared_by_and_by) {
    const struct algorithm *const log = algorithm_find("sliding_window_log", 18);
    static const int64_t kept[] = {2001, 1002, 503, 504};
    const char *const card[] = {"ZCARD", client.kept[0]};
    begin_history(1, &log);
    client.limits[0].params[0] = 10000 * MICRO;
    client.limits[0].params[1] = 1 * MICRO;
    client.max_delay_us = 0;
    client.now_us = 1700000000000000;
    settle_bounds();
    for (int i = 0; i < 3000; i++) {
        client.now_us += 100; /* 0.3 s in all */
        decide_once("take", between(1, 3));
        compare_many();
    }
    client.now_us += MICRO - 50000; /* 2,500 of them are old */
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        decide_once("take", 1);
        compare_all();
        ck_assert_int_eq(spy_number(card, 2), kept[i]);
        if (i > 0) continue;
        client.limits[0].params[1] = 2 * MICRO;
        decide_once("peek", 1);
        client.limits[0].params[0] = 1000 * MICRO;
        settle_bounds();
        for (int64_t cost = 1; cost <= 1000; cost *= 10)
            decide_once("peek", cost); /* the wait is found by a search */
        client.limits[0].params[1] = 1 * MICRO;
        client.limits[0].params[0] = 10000 * MICRO;
        settle_bounds();
    }
    client.now_us += 5 * MICRO;
    decide_once("take", 1); /* all are old */
    compare_all();
    ck_assert_int_eq(spy_number(card, 2), 1);
    algorithm_state_free(&client.states[0]);
}
END_TEST

int main(void) {
    chance_begin();
    setenv("CK_FORK", "no", 1); /* the tests share one count and one Redis */
    TCase *tests = tcase_create("algorithms");
    tcase_set_timeout(tests, 200);
    tcase_add_checked_fixture(tests, history_setup, history_teardown);
    tcase_add_test(tests, one_limit);
    tcase_add_test(tests, several_limits);
    tcase_add_test(tests, a_long_log_is_cleared_by_and_by);
    Suite *suite = suite_create("algorithms");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
