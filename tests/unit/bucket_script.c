/* Asks the decision script. Checks only what holds for every reply. */
#include "unit/bucket_script.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

#include "limit/lua_scripts.h"
#include "unit/unit.h"

struct private_redis script_redis;
redisContext *script_context;
char script_digest[64];

void script_setup(void) {
    private_redis_start(&script_redis, NULL, 0);
    script_context = private_redis_connect(&script_redis);
    redisReply *reply = redisCommand(script_context, "SCRIPT LOAD %b", lua_decide_text, lua_decide_len);
    ck_assert_int_eq(reply->type, REDIS_REPLY_STRING);
    snprintf(script_digest, sizeof script_digest, "%s", reply->str);
    freeReplyObject(reply);
}

void script_teardown(void) {
    redisFree(script_context);
    private_redis_stop(&script_redis);
}

void flush(void) {
    freeReplyObject(redisCommand(script_context, "FLUSHALL"));
}

struct said read_said(redisReply *reply, size_t limit) {
    int64_t values[7];
    ck_assert_msg(reply && reply->type == REDIS_REPLY_ARRAY, "the script failed: %s",
                  reply && reply->str ? reply->str : "no reply");
    ck_assert_int_ge(reply->elements, 7 + 4 * limit);
    for (size_t i = 0; i < 7; i++) {
        redisReply *element = reply->element[i < 3 ? i : i + 4 * limit];
        ck_assert_int_eq(element->type, REDIS_REPLY_INTEGER);
        values[i] = element->integer;
    }
    freeReplyObject(reply);
    return (struct said){.now = values[0],
                         .admitted = values[1],
                         .due = values[2],
                         .remaining = values[3],
                         .reset_after = values[4],
                         .retry_after = values[5],
                         .wait_one = values[6]};
}

struct said decide(const struct bucket *set, const char *key, const char *mode, int64_t cost,
                   int64_t max_delay, int64_t now) {
    return read_said(redisCommand(script_context,
                                  "EVALSHA %s 1 %s %lld %s %lld token_bucket %lld %lld %lld %lld",
                                  script_digest, key, (long long)(cost * MICRO), mode, (long long)max_delay,
                                  (long long)set->capacity, (long long)set->rate, (long long)set->interval,
                                  (long long)now),
                     0);
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
