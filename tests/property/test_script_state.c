/* What the script writes, for how long it lives, what it mends, and what it refuses: in a real Redis, with
 * the time passed in. The arithmetic: test_token_bucket_script.c. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/bucket_script.h"
#include "unit/unit.h"

static const struct bucket guide[] = {
    {10 * MICRO, MICRO, MICRO}, {100 * MICRO, 10 * MICRO, MICRO}, {60 * MICRO, MICRO, 60 * MICRO}};

/* --- what is written, and for how long --- */

START_TEST(ttl_is_the_time_to_full) {
    const struct bucket *set = &guide[2];
    take(set, 2, START);
    ck_assert_int_le(ask("PTTL", "k"), 120000);
    ck_assert_int_gt(ask("PTTL", "k"), 115000);
    take(set, 58, START);
    ck_assert_int_le(ask("PTTL", "k"), 3600000);
    ck_assert_int_gt(ask("PTTL", "k"), 3595000);
}
END_TEST

/* A TTL taken in the same transaction as the decision, so that (nearly) no time has passed. */
static long long ttl_after_take(const struct bucket *set) {
    flush();
    freeReplyObject(redisCommand(script_context, "MULTI"));
    freeReplyObject(redisCommand(script_context, "EVALSHA %s 1 k 1000000 %lld %lld %lld take 0 %lld",
                                 script_digest, (long long)set->capacity, (long long)set->rate,
                                 (long long)set->interval, START));
    freeReplyObject(redisCommand(script_context, "PTTL k"));
    redisReply *reply = redisCommand(script_context, "EXEC");
    ck_assert_int_eq(reply->elements, 2);
    long long ttl = reply->element[1]->integer;
    freeReplyObject(reply);
    return ttl;
}

START_TEST(ttl_is_rounded_up) {
    const struct bucket set = {MICRO, MICRO, 40001}; /* 40.001 ms: 41, of which a busy machine may see less */
    long long longest = 0;
    for (int i = 0; i < 20; i++) {
        long long ttl = ttl_after_take(&set);
        if (ttl > longest) longest = ttl;
    }
    ck_assert_int_eq(longest, 41);
}
END_TEST

START_TEST(a_denial_and_a_peek_write_nothing) {
    const struct bucket *set = &guide[2];
    take(set, 60, START);
    freeReplyObject(redisCommand(script_context, "PEXPIRE k 100000000"));
    take(set, 1, START + 1);
    peek(set, 1, START + 2);
    decide(set, "k", "look", 1, 0, START + 3);
    decide(set, "new", "peek", 1, 0, START);
    ck_assert_int_eq(ask("EXISTS", "new"), 0);
    check_field("last_refill", "1700000000000000");
    ck_assert_int_gt(ask("PTTL", "k"), 99000000);
}
END_TEST

START_TEST(a_missing_or_short_ttl_is_mended) {
    const struct bucket *set = &guide[2], slow = {60 * MICRO, MICRO, 600 * MICRO};
    take(set, 60, START);
    ask("PERSIST", "k");
    decide(set, "k", "look", 1, 0, START);
    ck_assert_int_eq(ask("PTTL", "k"), -1); /* looking writes nothing at all */
    peek(set, 1, START);
    ck_assert_int_gt(ask("PTTL", "k"), 3590000);
    ck_assert_int_eq(take(&slow, 1, START).admitted, 0);
    ck_assert_int_gt(ask("PTTL", "k"), 35990000);
}
END_TEST

static const char *const nonsense[] = {
    "SET k x",
    "SADD k x",
    "LPUSH k x",
    "ZADD k 1 x",
    "XADD k * a b",
    "HSET k tokens 5",
    "HSET k last_refill 1700000000000000",
    "HSET k tokens nan last_refill 1700000000000000",
    "HSET k tokens inf last_refill 1700000000000000",
    "HSET k tokens -inf last_refill 1700000000000000",
    "HSET k tokens 1e300 last_refill 1700000000000000",
    "HSET k tokens x last_refill 1700000000000000",
    "HSET k tokens 5 last_refill x",
    "HSET k tokens 5 last_refill nan",
    "HSET k tokens 5 last_refill -1",
    "HSET k tokens 5 last_refill 1e17",
    "HSET k tokens 5 last_refill 9999999999999999",
};

START_TEST(nonsense_is_a_new_client) {
    const struct bucket *set = &guide[0];
    freeReplyObject(redisCommand(script_context, nonsense[_i]));
    decide(set, "k", "look", 1, 0, START);
    ck_assert_int_eq(ask("EXISTS", "k"), 1);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(take(set, 1, START).admitted, 1);
    ck_assert_int_eq(take(set, 1, START).admitted, 0); /* and no more than a new client */
    check_field("tokens", "0");
    ck_assert_int_gt(ask("PTTL", "k"), 0);
    flush();
    freeReplyObject(redisCommand(script_context, nonsense[_i]));
    peek(set, 1, START);
    ck_assert_int_eq(ask("EXISTS", "k"), 0);
}
END_TEST

/* --- several limits, bad arguments --- */

START_TEST(all_limits_or_none) {
    const char *format =
        "EVALSHA %s 2 a b %lld 10000000 1000000 1000000 3000000 1000000 60000000 take 0 %lld "
        "token_bucket token_bucket";
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(
            read_said(redisCommand(script_context, format, several_digest, MICRO, START), 1, 0).remaining,
            2 - i);
    struct said first = read_said(redisCommand(script_context, format, several_digest, MICRO, START), 0, 0);
    struct said second = read_said(redisCommand(script_context, format, several_digest, MICRO, START), 1, 0);
    ck_assert_int_eq(first.admitted, 0);
    ck_assert_int_eq(first.due, 60 * MICRO);
    ck_assert_int_eq(first.remaining, 7); /* nothing was taken from it */
    ck_assert_int_eq(first.retry_after, 0);
    ck_assert_int_eq(second.retry_after, 60 * MICRO);
}
END_TEST

static const char *const bad_arguments[] = {
    "x 10000000 1000000 1000000",
    "-1 10000000 1000000 1000000",
    "nan 10000000 1000000 1000000",
    "inf 10000000 1000000 1000000",
    "1.5 10000000 1000000 1000000",
    "0.5 10000000.5 1000000 1000000",
    "1000000 10000000 0 1000000",
    "1000000 10000000 1000000",
    "1000000 1e17 1000000 1000000",
    "1000000 10000000 1000000 1000000 take x",
    "1000000 10000000 1000000 1000000 take -1",
    "1000000 10000000 1000000 1000000 take 0 x",
    "1000000 10000000 1000000 1000000 take 0 1.5",
    "1000000 0 0 1000000",
    "1000000 1000000000000000 1 1000000",
};

static const char *const bad_several[] = {
    "1000000 10000000 1000000 1000000 10000000 1000000 1000000 take 0",
    "1000000 10000000 1000000 1000000 10000000 1000000 1000000 take 0 # token_bucket",
    "1000000 10000000 1000000 1000000 10000000 1000000 1000000 take 0 # token_bucket no_such_thing",
    "1000000 10000000 1000000 1000000 10000000 0 1000000 take 0 # token_bucket token_bucket",
    "x 10000000 1000000 1000000 10000000 1000000 1000000 take 0 # token_bucket token_bucket",
};

static void refuse(const char *digest, const char *keys, const char *arguments) {
    char command[256], *text = command;
    const char *argv[24];
    int argc = 0;
    snprintf(command, sizeof command, "EVALSHA %s %s %s", digest, keys, arguments);
    for (char *word; (word = strsep(&text, " "));)
        argv[argc++] = strcmp(word, "#") == 0 ? "" : word;
    redisReply *reply = redisCommandArgv(script_context, argc, argv, NULL);
    ck_assert_int_eq(reply->type, REDIS_REPLY_ERROR);
    ck_assert_ptr_null(strstr(reply->str, "NOSCRIPT"));
    freeReplyObject(reply);
    ck_assert_int_eq(ask("EXISTS", "k"), 0);
    ck_assert_int_eq(ask("EXISTS", "l"), 0);
}

START_TEST(bad_arguments_write_nothing) {
    refuse(script_digest, "1 k", bad_arguments[_i]);
}
END_TEST

START_TEST(bad_arguments_of_several_limits_write_nothing) {
    refuse(several_digest, "2 k l", bad_several[_i]);
}
END_TEST

/* The user may not read: an error, never a fresh bucket. */
START_TEST(a_missing_permission_admits_nobody) {
    take(&guide[0], 10, START);
    freeReplyObject(redisCommand(script_context, "ACL SETUSER default -hmget"));
    redisReply *reply = redisCommand(
        script_context, "EVALSHA %s 1 k 1000000 10000000 1000000 1000000 take 0 %lld", script_digest, START);
    ck_assert_int_eq(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    check_field("tokens", "0");
}
END_TEST

START_TEST(real_time) {
    redisReply *time = redisCommand(script_context, "TIME");
    int64_t before = atoll(time->element[0]->str) * MICRO + atoll(time->element[1]->str);
    freeReplyObject(time);
    struct said said = read_said(
        redisCommand(script_context, "EVALSHA %s 1 k 1000000 10000000 1000000 1000000", script_digest), 0, 0);
    ck_assert_int_ge(said.now, before);
    ck_assert_int_lt(said.now, before + 60 * MICRO);
    ck_assert_int_eq(said.remaining, 9);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("script_state");
    TCase *tcase = tcase_create("state");
    tcase_add_checked_fixture(tcase, script_setup, script_teardown);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, ttl_is_the_time_to_full);
    tcase_add_test(tcase, ttl_is_rounded_up);
    tcase_add_test(tcase, a_denial_and_a_peek_write_nothing);
    tcase_add_test(tcase, a_missing_or_short_ttl_is_mended);
    tcase_add_loop_test(tcase, nonsense_is_a_new_client, 0, COUNT(nonsense));
    tcase_add_test(tcase, all_limits_or_none);
    tcase_add_loop_test(tcase, bad_arguments_write_nothing, 0, COUNT(bad_arguments));
    tcase_add_loop_test(tcase, bad_arguments_of_several_limits_write_nothing, 0, COUNT(bad_several));
    tcase_add_test(tcase, a_missing_permission_admits_nobody);
    tcase_add_test(tcase, real_time);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
