/* Random histories of all algorithms, alone and together: the script in a real Redis against the same
 * arithmetic in memory, to the last digit of every number; and both against what they promise and what a
 * limit means.
 *
 * Time is passed in. SEED=N repeats a run. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/decimal.h"
#include "limit/exact.h"
#include "limit/local_decision.h"
#include "unit/spy_script.h"
#include "unit/unit.h"

enum {
    DECISIONS = 200000, /* at least, a run */
    STEPS = 80,         /* of a history */
    EXPECTED_MAX = STEPS * 16,
    KEY_BYTES = 24
};

#define LATEST (EXACT - 1000000000000000LL) /* so far may the clock get: three times ten years are left */

/* --- chance --- */

static uint64_t chance_state;
static uint64_t seed;

static uint64_t chance_bits(void) { /* splitmix64 */
    uint64_t bits = (chance_state += 0x9e3779b97f4a7c15u);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)(chance_bits() % (uint64_t)(high - low + 1));
}

static bool one_in(int64_t count) {
    return between(1, count) == 1;
}

/* Each order of magnitude as likely as another. */
static int64_t spread(int64_t low, int64_t high) {
    int64_t top = low;
    while (top < high / 10 && !one_in(6))
        top *= 10;
    return between(low, exact_min(high, top * 10));
}

/* --- a client: what Redis and memory know of it --- */

struct client {
    struct limit_settings limits[LIMITS_MAX];
    size_t count;
    struct algorithm_state states[LIMITS_MAX];
    int64_t expires_ms[LIMITS_MAX]; /* when Redis would let the key go */
    bool broken[LIMITS_MAX];        /* the key holds nonsense */
    char kept[LIMITS_MAX][KEY_BYTES], expiring[LIMITS_MAX][KEY_BYTES];
    int64_t now_us, max_delay_us, cost_max;
    int64_t latest_us; /* the clock was there once */
    bool twin;         /* there are two keys: kept for ever, and gone as soon as Redis may let it go */
    bool calm; /* settings stay, the clock goes forward, nobody is delayed: what a limit means can be checked
                */
    int step;
    bool at_once; /* this request may not wait */
};

struct admission {
    int64_t time_us, units;
};

/* What the script must answer. */
struct expected {
    bool skip;  /* a command's answer */
    bool whole; /* TTL and writes too */
    int step;
    struct limit_settings limits[LIMITS_MAX];
    struct decision decision;
    int64_t max_delay_us, ttl_ms[LIMITS_MAX], writes_min, writes_max;
};

static struct client client;
static struct admission admissions[STEPS];
static size_t admission_count;
static const struct expected *asked; /* whose answer is being compared */
static long decisions, denials, delays, changes, switches, expiries, mendings;

#define SAY(condition, ...)                                                                                  \
    do {                                                                                                     \
        if (!(condition)) fail_with(__LINE__, #condition, __VA_ARGS__);                                      \
    } while (0)

__attribute__((noreturn, format(printf, 3, 4))) static void fail_with(int line, const char *what,
                                                                      const char *fmt, ...) {
    char text[1024], more[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(more, sizeof more, fmt, args);
    va_end(args);
    const struct limit_settings *limits = asked ? asked->limits : client.limits;
    int64_t delay = asked ? asked->max_delay_us : client.max_delay_us;
    size_t len = (size_t)snprintf(
        text, sizeof text,
        "line %d: %s: %s; SEED=%llu, decision %ld, step %d, now %lld, cost %lld, delay %lld", line, what,
        more, (unsigned long long)seed, decisions, asked ? asked->step : client.step,
        (long long)(asked ? asked->decision.now_us : client.now_us),
        (long long)(asked ? asked->decision.cost : 0), (long long)delay);
    for (size_t i = 0; i < client.count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "; %s %lld %lld %lld",
                                limits[i].algorithm->name, (long long)limits[i].params[0],
                                (long long)limits[i].params[1], (long long)limits[i].params[2]);
    ck_abort_msg("%s", text);
    abort();
}

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

/* --- what Redis must answer, in the order of the questions --- */

static int64_t longest_wait(void) {
    return client.at_once ? 0 : client.max_delay_us;
}

static struct expected expected[EXPECTED_MAX];
static size_t expected_count;

static struct expected *expect(void) {
    ck_assert_uint_lt(expected_count, EXPECTED_MAX);
    struct expected *next = &expected[expected_count++];
    *next = (struct expected){.step = client.step, .max_delay_us = longest_wait()};
    memcpy(next->limits, client.limits, sizeof next->limits);
    return next;
}

static void send_command(const char *a, const char *b, const char *c, const char *d, const char *e,
                         const char *f) {
    const char *const words[] = {a, b, c, d, e, f};
    int count = 0;
    while (count < 6 && words[count])
        count++;
    spy_command(words, count);
    expect()->skip = true;
}

static void ask(bool kept, const char *mode, int64_t cost, int64_t now_us) {
    struct spy_request request = {.limits = client.limits,
                                  .count = client.count,
                                  .mode = mode,
                                  .cost = cost,
                                  .max_delay_us = client.max_delay_us,
                                  .now_us = now_us};
    for (size_t i = 0; i < client.count; i++) {
        request.keys[i] = kept ? client.kept[i] : client.expiring[i];
        request.pttl_ms[i] = exact_max(0, client.expires_ms[i] - now_us / 1000);
    }
    spy_ask(&request);
}

static void compare(const struct expected *right, const struct spy_said *said, size_t count) {
    const struct decision *decision = &right->decision, *script = &said->decision;
    SAY(script->now_us == decision->now_us, "%lld", (long long)script->now_us);
    SAY(script->outcome == decision->outcome, "script %d", (int)script->outcome);
    SAY(script->delayed_us == decision->delayed_us, "script %lld, here %lld", (long long)script->delayed_us,
        (long long)decision->delayed_us);
    for (size_t i = 0; i < count; i++) {
        const struct limit_state *a = &script->limits[i], *b = &decision->limits[i];
        SAY(memcmp(a, b, sizeof *a) == 0,
            "limit %zu: script remaining %lld, reset %lld, retry %lld, one %lld; here %lld, %lld, %lld, %lld",
            i, (long long)a->remaining, (long long)a->reset_after_us, (long long)a->retry_after_us,
            (long long)a->wait_one_us, (long long)b->remaining, (long long)b->reset_after_us,
            (long long)b->retry_after_us, (long long)b->wait_one_us);
        SAY(!right->whole || said->ttl_ms[i] == right->ttl_ms[i], "limit %zu: script %lld, here %lld", i,
            (long long)said->ttl_ms[i], (long long)right->ttl_ms[i]);
    }
    SAY(!right->whole || (said->writes >= right->writes_min && said->writes <= right->writes_max),
        "%lld writes, not %lld to %lld", (long long)said->writes, (long long)right->writes_min,
        (long long)right->writes_max);
}

static void compare_all(void) {
    for (size_t i = 0; i < expected_count; i++) {
        struct spy_said said;
        if (expected[i].skip) {
            spy_skip();
        } else {
            spy_answer(expected[i].limits, client.count, expected[i].max_delay_us, &said);
            asked = &expected[i];
            compare(asked, &said, client.count);
            asked = NULL;
        }
    }
    expected_count = 0;
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
    ask(true, "look", cost, now + retry - 1);
    expect()->decision = early;
    ask(true, "look", cost, now + retry);
    expect()->decision = then;
}

/* --- one step of a history --- */

/* The second key of a limit goes when Redis would let it go at the earliest. It must make no difference. */
static void expire(void) {
    if (client.now_us < client.latest_us)
        return; /* what a clock that went back takes for untrue may be true again */
    client.latest_us = client.now_us;
    for (size_t i = 0; i < client.count; i++) {
        if (client.states[i].count == 0 || ttl_at(i, client.now_us) > 0) continue;
        send_command("DEL", client.expiring[i], NULL, NULL, NULL, NULL);
        expiries++;
    }
}

/* After a change of settings, and when the clock went back, old and new rules about it differ
 * (docs/algorithms.md). */
static void make_equal(void) {
    for (size_t i = 0; i < client.count; i++) {
        send_command("DEL", client.expiring[i], NULL, NULL, NULL, NULL);
        send_command("COPY", client.kept[i], client.expiring[i], "REPLACE", NULL, NULL);
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
    send_command("DEL", client.kept[i], NULL, NULL, NULL, NULL);
    send_command(words[0], client.kept[i], words[1], words[2], words[3], words[3] ? "7" : NULL);
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
        ask(kept, mode, cost, client.now_us);
        expect()->decision = decision;
        if (kept) expect_writes(&expected[expected_count - 1], mode, take && admitted);
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
        if (i != changed) send_command("DEL", client.kept[i], NULL, NULL, NULL, NULL);
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
        admissions[admission_count++] = (struct admission){client.now_us, cost};
    return decision;
}

/* --- what a limit means, from what was admitted --- */

/* The most that may pass within `time`, its ends included: millionths. */
static int64_t most_within(const struct limit_settings *limit, int64_t time) {
    const char *name = limit->algorithm->name;
    const int64_t *params = limit->params;
    int64_t size = params[0];
    if (strcmp(name, "token_bucket") == 0) {
        int64_t refills = time / params[2] + (time % params[2] != 0);
        return refills > EXACT / params[1] ? INT64_MAX : size + refills * params[1];
    }
    if (strcmp(name, "leaky_bucket") == 0) {
        if (time / MICRO >= EXACT / params[1]) return INT64_MAX;
        __int128 leaked = (__int128)time * params[1];
        return size + (int64_t)(leaked / MICRO) + (leaked % MICRO != 0);
    }
    if (time >= params[1]) return INT64_MAX;
    if (strcmp(name, "sliding_window_log") == 0) return size;
    if (strcmp(name, "fixed_window") == 0) return 2 * size - MICRO;
    return strcmp(name, "sliding_window_counter") == 0 ? 2 * size : INT64_MAX;
}

static void check_meaning(const struct limit_settings *limit) {
    for (size_t first = 0; first < admission_count; first++) {
        int64_t units = 0;
        for (size_t last = first; last < admission_count; last++) {
            int64_t time = admissions[last].time_us - admissions[first].time_us;
            int64_t most = most_within(limit, time) / MICRO;
            units += admissions[last].units;
            SAY(units <= most, "%lld units within %lld us, %lld allowed", (long long)units, (long long)time,
                (long long)most);
        }
    }
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
    admission_count = 0;
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
        if (expected_count > EXPECTED_MAX / 2) compare_all();
    }
    for (size_t i = 0; i < count; i++)
        send_command("UNLINK", client.kept[i], client.expiring[i], NULL, NULL, NULL);
    compare_all();
    for (size_t i = 0; i < count; i++) {
        if (client.calm) check_meaning(&client.limits[i]);
        algorithm_state_free(&client.states[i]);
    }
}

static void random_history(size_t count) {
    const struct algorithm *chosen[LIMITS_MAX];
    for (size_t i = 0; i < count; i++)
        chosen[i] = algorithms[between(0, (int64_t)algorithm_count - 1)];
    run_history(count, chosen);
}

static void setup(void) {
    spy_setup();
    expected_count = 0;
    asked = NULL;
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
        if (expected_count > EXPECTED_MAX / 2) compare_all();
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
    const char *given = getenv("SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    chance_state = seed;
    printf("SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    setenv("CK_FORK", "no", 1); /* the tests share one count and one Redis */
    TCase *tests = tcase_create("algorithms");
    tcase_set_timeout(tests, 200);
    tcase_add_checked_fixture(tests, setup, spy_teardown);
    tcase_add_test(tests, one_limit);
    tcase_add_test(tests, several_limits);
    tcase_add_test(tests, a_long_log_is_cleared_by_and_by);
    Suite *suite = suite_create("algorithms");
    suite_add_tcase(suite, tests);
    return unit_main(suite);
}
