/* Asks the decision script. Checks only what holds for every reply. */
#include "unit/bucket_script.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "limit/lua_scripts.h"
#include "unit/unit.h"

struct private_redis script_redis;
redisContext *script_context;
char script_digest[64], several_digest[64];

/* NULL: the script for several limits. */
static void load(const char *algorithm, char *digest, size_t size) {
    for (size_t i = 0; i < lua_script_count; i++) {
        const char *name = lua_scripts[i].algorithm;
        if (algorithm == NULL ? name != NULL : !name || strcmp(name, algorithm) != 0) continue;
        redisReply *reply = redisCommand(script_context, "SCRIPT LOAD %s", lua_scripts[i].text);
        ck_assert_int_eq(reply->type, REDIS_REPLY_STRING);
        snprintf(digest, size, "%s", reply->str);
        freeReplyObject(reply);
    }
}

void script_setup(void) {
    private_redis_start(&script_redis, NULL, 0);
    script_context = private_redis_connect(&script_redis);
    load("token_bucket", script_digest, sizeof script_digest);
    load(NULL, several_digest, sizeof several_digest);
}

void script_teardown(void) {
    redisFree(script_context);
    private_redis_stop(&script_redis);
}

void flush(void) {
    freeReplyObject(redisCommand(script_context, "FLUSHALL"));
}

static int64_t longest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

struct said read_said(redisReply *reply, size_t limit, int64_t max_delay) {
    ck_assert_msg(reply && reply->type == REDIS_REPLY_ARRAY, "the script failed: %s",
                  reply && reply->str ? reply->str : "no reply");
    ck_assert_int_ge(reply->elements, 4 + 3 * limit);
    for (size_t i = 0; i < reply->elements; i++)
        ck_assert_int_eq(reply->element[i]->type, REDIS_REPLY_INTEGER);
    struct said said = {.now = reply->element[0]->integer};
    for (size_t i = 1; i < reply->elements; i += 3)
        said.due = longest(said.due, reply->element[i]->integer);
    int64_t due = reply->element[1 + 3 * limit]->integer;
    said.admitted = said.due <= max_delay;
    said.remaining = reply->element[2 + 3 * limit]->integer;
    said.reset_after = reply->element[3 + 3 * limit]->integer;
    said.retry_after = said.admitted ? 0 : longest(0, due - max_delay);
    said.wait_one = said.remaining > 0 ? 0 : longest(0, said.reset_after - max_delay);
    freeReplyObject(reply);
    return said;
}

struct said decide(const struct bucket *set, const char *key, const char *mode, int64_t cost,
                   int64_t max_delay, int64_t now) {
    return read_said(redisCommand(script_context, "EVALSHA %s 1 %s %lld %lld %lld %lld %s %lld %lld",
                                  script_digest, key, (long long)(cost * MICRO), (long long)set->capacity,
                                  (long long)set->rate, (long long)set->interval, mode, (long long)max_delay,
                                  (long long)now),
                     0, max_delay);
}

struct said take(const struct bucket *set, int64_t cost, int64_t now) {
    return decide(set, "k", "take", cost, 0, now);
}

struct said peek(const struct bucket *set, int64_t cost, int64_t now) {
    return decide(set, "k", "peek", cost, 0, now);
}

long long ask(const char *first, const char *second) {
    return private_redis_do(&script_redis, first, second, NULL);
}

void check_field(const char *field, const char *expected) {
    redisReply *reply = redisCommand(script_context, "HGET k %s", field);
    ck_assert_int_eq(reply->type, REDIS_REPLY_STRING);
    ck_assert_str_eq(reply->str, expected);
    freeReplyObject(reply);
}

void check_promises(const struct bucket *set, int64_t cost, const struct said *said) {
    int64_t now = said->now;
    if (!said->admitted) {
        ck_assert_int_gt(said->retry_after, 0);
        ck_assert_int_eq(decide(set, "k", "look", cost, 0, now + said->retry_after - 1).admitted, 0);
        ck_assert_int_eq(decide(set, "k", "look", cost, 0, now + said->retry_after).admitted, 1);
    }
    if (said->remaining * MICRO == set->capacity) {
        ck_assert_int_eq(said->reset_after, 0);
        return;
    }
    ck_assert_int_gt(said->reset_after, 0);
    ck_assert_int_eq(decide(set, "k", "look", 1, 0, now + said->reset_after - 1).remaining, said->remaining);
    ck_assert_int_gt(decide(set, "k", "look", 1, 0, now + said->reset_after).remaining, said->remaining);
    ck_assert_int_eq(said->wait_one, said->remaining > 0 ? 0 : said->reset_after);
}
