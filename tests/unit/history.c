/* Questions to the script, the answers it must give, and words for when it does not. Makes no decision. */
#include "unit/history.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limit/exact.h"
#include "unit/spy_script.h"

enum { EXPECTED_MAX = STEPS * 16 };

struct client client;
long decisions;

static struct expected expected[EXPECTED_MAX];
static size_t expected_count;
static const struct expected *asked; /* whose answer is being compared */

void history_setup(void) {
    spy_setup();
    expected_count = 0;
    asked = NULL;
}

void history_teardown(void) {
    spy_teardown();
}

void history_fail(int line, const char *what, const char *fmt, ...) {
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
        more, (unsigned long long)chance_seed, decisions, asked ? asked->step : client.step,
        (long long)(asked ? asked->decision.now_us : client.now_us),
        (long long)(asked ? asked->decision.cost : 0), (long long)delay);
    for (size_t i = 0; i < client.count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "; %s %lld %lld %lld",
                                limits[i].algorithm->name, (long long)limits[i].params[0],
                                (long long)limits[i].params[1], (long long)limits[i].params[2]);
    ck_abort_msg("%s", text);
    abort();
}

/* --- what Redis must answer, in the order of the questions --- */

int64_t longest_wait(void) {
    return client.at_once ? 0 : client.max_delay_us;
}

static struct expected *expect(void) {
    ck_assert_uint_lt(expected_count, EXPECTED_MAX);
    struct expected *next = &expected[expected_count++];
    *next = (struct expected){.step = client.step, .max_delay_us = longest_wait()};
    memcpy(next->limits, client.limits, sizeof next->limits);
    return next;
}

void history_command(const char *a, const char *b, const char *c, const char *d, const char *e,
                     const char *f) {
    const char *const words[] = {a, b, c, d, e, f};
    int count = 0;
    while (count < 6 && words[count])
        count++;
    spy_command(words, count);
    expect()->skip = true;
}

struct expected *history_ask(bool kept, const char *mode, int64_t cost, int64_t now_us) {
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
    return expect();
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

void compare_all(void) {
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

void compare_many(void) {
    if (expected_count > EXPECTED_MAX / 2) compare_all();
}
