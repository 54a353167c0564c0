/* Runs the script with its own `redis` in front of Redis's. Checks nothing itself but that it answers. */
#include "unit/spy_script.h"

#include "limit/script_reply.h" /* before hiredis, whose macros share a name or two with it */

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/decimal.h"
#include "limit/lua_scripts.h"
#include "unit/private_redis.h"
#include "unit/unit.h"

enum { WORDS_MAX = 64, WORD_BYTES = 24 };

static const char before[] =
    "local server, writes, ttls, pttls = redis, 0, {}, {}\n"
    "for i, key in ipairs(KEYS) do\n"
    "  ttls[key], pttls[key] = -1, tonumber(ARGV[#ARGV - #KEYS + i])\n"
    "end\n"
    "local reads = {TIME = 1, HMGET = 1, HGETALL = 1, ZRANGE = 1, ZRANGEBYSCORE = 1, "
    "ZRANK = 1, ZCARD = 1}\n"
    "local redis = {pcall = server.pcall}\n"
    "function redis.call(name, key, ...)\n"
    "  if name == 'PTTL' then return pttls[key] end\n"
    "  if name == 'PEXPIRE' then ttls[key] = tonumber((...)) return 1 end\n"
    "  if not reads[name] then writes = writes + 1 end\n"
    "  return server.call(name, key, ...)\n"
    "end\n"
    "local function decide()\n";
static const char after[] = "end\n"
                            "local reply = decide()\n"
                            "for _, key in ipairs(KEYS) do reply[#reply + 1] = ttls[key] end\n"
                            "reply[#reply + 1] = writes\n"
                            "return reply\n";

static struct private_redis redis;
static redisContext *context;
static char digests[32][64]; /* of lua_scripts */

static void load(const char *script, char *digest, size_t size) {
    struct buf text = BUF_INIT(256 * 1024);
    buf_adds(&text, before);
    buf_adds(&text, script);
    buf_adds(&text, after);
    redisReply *reply = redisCommand(context, "SCRIPT LOAD %s", buf_str(&text));
    ck_assert_msg(reply && reply->type == REDIS_REPLY_STRING, "%s", reply ? reply->str : context->errstr);
    snprintf(digest, size, "%s", reply->str);
    freeReplyObject(reply);
    buf_free(&text);
}

void spy_setup(void) {
    private_redis_start(&redis, NULL, 0);
    context = private_redis_connect(&redis);
    for (size_t i = 0; i < lua_script_count; i++)
        load(lua_scripts[i].text, digests[i], sizeof digests[i]);
}

static const char *digest_for(const struct spy_request *request) {
    const char *name = request->count == 1 ? request->limits[0].algorithm->name : NULL;
    for (size_t i = 0; i < lua_script_count; i++) {
        const char *algorithm = lua_scripts[i].algorithm;
        if (name == NULL ? algorithm == NULL : algorithm && strcmp(name, algorithm) == 0) return digests[i];
    }
    ck_abort_msg("no script for %s", name ? name : "several limits");
    abort();
}

void spy_teardown(void) {
    redisFree(context);
    private_redis_stop(&redis);
}

void spy_command(const char *const *words, int count) {
    const char *argv[WORDS_MAX];
    for (int i = 0; i < count; i++)
        argv[i] = words[i];
    ck_assert_int_eq(redisAppendCommandArgv(context, count, argv, NULL), REDIS_OK);
}

struct words {
    const char *argv[WORDS_MAX];
    char text[WORDS_MAX][WORD_BYTES];
    int count;
};

static void add(struct words *words, const char *word) {
    words->argv[words->count++] = word;
}

static void add_number(struct words *words, int64_t value) {
    char *text = words->text[words->count];
    snprintf(text, WORD_BYTES, "%lld", (long long)value);
    add(words, text);
}

void spy_ask(const struct spy_request *request) {
    struct words words = {.count = 0};
    add(&words, "EVALSHA");
    add(&words, digest_for(request));
    add_number(&words, (int64_t)request->count);
    for (size_t i = 0; i < request->count; i++)
        add(&words, request->keys[i]);
    add_number(&words, request->cost * MICRO);
    for (size_t i = 0; i < request->count; i++) {
        for (size_t p = 0; p < PARAMS_MAX; p++)
            add_number(&words, request->limits[i].params[p]);
    }
    add(&words, request->mode);
    add_number(&words, request->max_delay_us);
    add_number(&words, request->now_us);
    for (size_t i = 0; i < request->count && request->count > 1; i++)
        add(&words, request->limits[i].algorithm->name);
    for (size_t i = 0; i < request->count; i++)
        add_number(&words, request->pttl_ms[i]);
    spy_command(words.argv, words.count);
}

static redisReply *next_reply(void) {
    redisReply *reply = NULL;
    ck_assert_msg(redisGetReply(context, (void **)&reply) == REDIS_OK, "Redis: %s", context->errstr);
    return reply;
}

void spy_skip(void) {
    freeReplyObject(next_reply());
}

int64_t spy_number(const char *const *words, int count) {
    spy_command(words, count);
    redisReply *reply = next_reply();
    int64_t number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    freeReplyObject(reply);
    return number;
}

void spy_answer(const struct limit_settings *limits, size_t count, int64_t longest_us,
                struct spy_said *said) {
    redisReply *reply = next_reply();
    size_t own = reply->elements - count - 1; /* behind them what `after` adds */
    ck_assert_msg(reply->type == REDIS_REPLY_ARRAY && reply->elements > count + 1,
                  "not the script's reply: %s", reply->str ? reply->str : "a list of another length");
    for (size_t i = 0; i < count; i++)
        said->ttl_ms[i] = reply->element[own + i]->integer;
    said->writes = reply->element[own + count]->integer;
    reply->elements = own;
    bool good = script_reply_read((const struct redis_value *)(const void *)reply, limits, count, longest_us,
                                  &said->decision);
    reply->elements = own + count + 1;
    ck_assert_msg(good, "not the script's reply");
    freeReplyObject(reply);
}
