/* Commands and replies of the shared configuration: a link and a subscriber of its own on the main loop.
 *
 * Decides nothing about what it reads. */
#include "config/config_redis.h"

#include <ev.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xmalloc.h"
#include "config/config_script.h"
#include "redis/redis_fault.h"
#include "redis/redis_subscriber.h"

#define POLL_SECONDS 0.5
#define GONE_AFTER_MS "3000" /* without a sign of life for so long, an instance counts as gone */

/* A document may have a megabyte, and nobody's request waits for it but the change's own. */
enum { TIMEOUT_MS = 1000, GOODBYE_MS = 100, ARGS_MAX = 10, NUMBER_MAX = 24, WORDS_MAX = REDIS_FAULT_WORDS };

enum { ALIVE_MAX = 1000000 }; /* instances: nobody has more */

enum { REPLY_STATE, REPLY_VERSION, REPLY_NONCE, REPLY_FORGETS, REPLY_DOCUMENT, REPLY_COUNT };

static struct redis_script config_script = {.name = "config", .text = lua_config_text};

struct config_redis {
    struct ev_loop *loop;
    struct redis_settings settings;
    struct redis_link *link;
    struct redis_subscriber *subscriber;
    ev_timer poll;
    ev_prepare flush;
    char *hash, *instances; /* keys; the hash's is the channel's name, too */
    char instance[CONFIG_NONCE_LEN + 1];
    const struct config_redis_events *events;
    void *arg;
    char complaint[WORDS_MAX], alive_complaint[WORDS_MAX],
        forget_complaint[WORDS_MAX]; /* last refusals: the same one is told once */
    atomic_uint alive;
    atomic_uint_least64_t forgets;
    atomic_int_least64_t read_us;
};

/* A read or a write on its way. */
struct asking {
    struct config_redis *redis;
    struct config_identity known;
    int64_t since_us;
    config_answered *done;
    void *arg;
};

/* --- identities --- */

bool config_identity_same(const struct config_identity *a, const struct config_identity *b) {
    return a->version == b->version && strcmp(a->nonce, b->nonce) == 0;
}

void config_nonce_make(char nonce[CONFIG_NONCE_LEN + 1]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[CONFIG_NONCE_LEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        abort(); /* so few bytes always come whole */
    for (size_t i = 0; i < sizeof bytes; i++) {
        nonce[2 * i] = digits[bytes[i] >> 4];
        nonce[2 * i + 1] = digits[bytes[i] & 15];
    }
    nonce[CONFIG_NONCE_LEN] = '\0';
}

/* --- arguments --- */

struct args {
    int count;
    const char *text[ARGS_MAX];
    size_t len[ARGS_MAX];
    char numbers[2][NUMBER_MAX];
    int number_count;
};

static void add_bytes(struct args *args, const char *text, size_t len) {
    args->text[args->count] = text;
    args->len[args->count++] = len;
}

static void add(struct args *args, const char *text) {
    add_bytes(args, text, strlen(text));
}

static void add_identity(struct args *args, const struct config_identity *identity) {
    char *number = args->numbers[args->number_count++];
    snprintf(number, NUMBER_MAX, "%llu", (unsigned long long)identity->version);
    add(args, number);
    add(args, identity->nonce);
}

static void eval(struct config_redis *redis, const struct args *args, redis_done *done, void *arg) {
    redis_link_eval(redis->link, &config_script, 1, args->count, args->text, args->len, done, arg);
}

/* --- replies --- */

/* `last`: what was told of such commands. That Redis is away, the workers' links tell. */
static void complain(const struct config_redis *redis, char last[WORDS_MAX], const char *error) {
    char words[WORDS_MAX] = "";
    if (*error && redis_fault_of(error)->away) return;
    if (*error) redis_fault_describe(error, words, sizeof words);
    if (strcmp(last, words) == 0) return;
    memcpy(last, words, sizeof words);
    if (*words) log_warn("Redis refuses what keeps the configuration together at %s: %s", redis->hash, words);
}

static bool read_number(const struct redis_value *value, uint64_t *number) {
    size_t len = 0;
    const char *text = redis_value_str(value, &len);
    char *end;
    if (!text || len == 0 || text[0] < '0' || text[0] > '9') return false;
    *number = strtoull(text, &end, 10);
    return *end == '\0';
}

/* False if the reply is none that the script gives. */
static bool read_seen(struct asking *asking, const struct redis_value *value, struct config_seen *seen) {
    size_t len = 0, nonce_len = 0;
    uint64_t forgets = 0;
    const char *state = redis_value_str(redis_value_at(value, REPLY_STATE), &len);
    const char *nonce = redis_value_str(redis_value_at(value, REPLY_NONCE), &nonce_len);
    if (redis_value_count(value) != REPLY_COUNT || !state || !nonce || nonce_len > CONFIG_NONCE_LEN ||
        !read_number(redis_value_at(value, REPLY_VERSION), &seen->identity.version))
        return false;
    memcpy(seen->identity.nonce, nonce, nonce_len);
    seen->identity.nonce[nonce_len] = '\0';
    seen->damaged = strcmp(state, "damaged") == 0;
    if (nonce_len > 0 && !config_identity_same(&seen->identity, &asking->known))
        seen->document = redis_value_str(redis_value_at(value, REPLY_DOCUMENT), &seen->document_len);
    if (read_number(redis_value_at(value, REPLY_FORGETS), &forgets))
        atomic_store(&asking->redis->forgets, forgets);
    atomic_store(&asking->redis->read_us, asking->since_us);
    return true;
}

static bool is_written(const struct redis_value *value) {
    return redis_value_count(value) == 1;
}

static void on_reply(void *arg, enum redis_status status, const struct redis_value *value,
                     const char *error) {
    struct asking *asking = arg;
    struct config_seen seen = {.document = NULL};
    enum config_answer answer = CONFIG_FAILED;
    if (status == REDIS_ERROR)
        complain(asking->redis, asking->redis->complaint, error);
    else if (status == REDIS_LATE || status == REDIS_LOST)
        answer = CONFIG_UNKNOWN;
    else if (status == REDIS_NOT_READY)
        error = "Redis is not available";
    else if (is_written(value))
        answer = CONFIG_WRITTEN;
    else if (read_seen(asking, value, &seen))
        answer = CONFIG_SEEN;
    else
        error = "Redis gave an answer that is none";
    if (status == REDIS_OK) complain(asking->redis, asking->redis->complaint, "");
    asking->done(asking->arg, answer, answer == CONFIG_SEEN ? &seen : NULL, error);
    free(asking);
}

static struct asking *asking_new(struct config_redis *redis, config_answered *done, void *arg) {
    struct asking *asking = xcalloc(1, sizeof *asking);
    asking->redis = redis;
    asking->since_us = clock_mono_us();
    asking->done = done;
    asking->arg = arg;
    return asking;
}

void config_redis_read(struct config_redis *redis, const struct config_identity *known, config_answered *done,
                       void *arg) {
    struct asking *asking = asking_new(redis, done, arg);
    struct args args = {.count = 0};
    asking->known = *known;
    add(&args, redis->hash);
    add(&args, "read");
    add_identity(&args, known);
    eval(redis, &args, on_reply, asking);
}

void config_redis_write(struct config_redis *redis, const struct config_identity *expected,
                        const struct config_identity *next, const char *document, size_t document_len,
                        config_answered *done, void *arg) {
    struct args args = {.count = 0};
    add(&args, redis->hash);
    add(&args, "write");
    add_identity(&args, expected);
    add_identity(&args, next);
    add_bytes(&args, document, document_len);
    add(&args, redis->hash);
    eval(redis, &args, on_reply, asking_new(redis, done, arg));
}

/* --- signs of life, and what is counted --- */

static void on_alive(void *arg, enum redis_status status, const struct redis_value *value,
                     const char *error) {
    struct config_redis *redis = arg;
    int64_t count;
    if (status == REDIS_ERROR) complain(redis, redis->alive_complaint, error);
    if (status == REDIS_OK) complain(redis, redis->alive_complaint, "");
    if (status != REDIS_OK || !redis_value_int(value, &count) || count < 1 || count > ALIVE_MAX) return;
    if (atomic_exchange(&redis->alive, (unsigned)count) != (unsigned)count)
        redis->events->counted(redis->arg, (unsigned)count);
}

static void send_alive(struct config_redis *redis) {
    struct args args = {.count = 0};
    add(&args, redis->instances);
    add(&args, "alive");
    add(&args, redis->instance);
    add(&args, GONE_AFTER_MS);
    add(&args, redis->hash);
    eval(redis, &args, on_alive, redis);
}

static void ignore(void *arg, enum redis_status status, const struct redis_value *value, const char *error) {
    (void)arg, (void)status, (void)value, (void)error;
}

static void on_forgot(void *arg, enum redis_status status, const struct redis_value *value,
                      const char *error) {
    struct config_redis *redis = arg;
    (void)value;
    if (status == REDIS_ERROR) complain(redis, redis->forget_complaint, error);
    if (status == REDIS_OK) complain(redis, redis->forget_complaint, "");
}

static void command(struct config_redis *redis, const struct args *args, redis_done *done) {
    redis_link_command(redis->link, args->count, args->text, args->len, done, redis);
}

/* The others need not wait until they miss our sign of life. */
static void say_goodbye(struct config_redis *redis) {
    struct args leave = {.count = 0};
    add(&leave, "ZREM");
    add(&leave, redis->instances);
    add(&leave, redis->instance);
    command(redis, &leave, ignore);
    redis_link_finish(redis->link, GOODBYE_MS);
}

void config_redis_forget(struct config_redis *redis) {
    struct args count = {.count = 0}, tell = {.count = 0};
    add(&count, "HINCRBY");
    add(&count, redis->hash);
    add(&count, "forgets");
    add(&count, "1");
    command(redis, &count, on_forgot);
    add(&tell, "PUBLISH");
    add(&tell, redis->hash);
    add(&tell, "forget");
    command(redis, &tell, ignore);
}

/* --- when to look --- */

static void look(struct config_redis *redis) {
    redis->events->look(redis->arg);
}

static void on_poll(struct ev_loop *loop, ev_timer *timer, int events) {
    struct config_redis *redis = timer->data;
    (void)loop, (void)events;
    if (redis_link_state(redis->link) != REDIS_READY) return;
    send_alive(redis);
    look(redis);
}

static void on_heard(void *arg) {
    struct config_redis *redis = arg;
    if (redis_link_state(redis->link) == REDIS_READY) on_poll(redis->loop, &redis->poll, 0);
}

static void on_changed(void *arg, bool ready, const char *why) {
    struct config_redis *redis = arg;
    (void)why; /* the workers' links tell it */
    if (ready)
        on_poll(redis->loop, &redis->poll, 0);
    else
        redis->events->away(redis->arg);
}

static void on_before_sleep(struct ev_loop *loop, ev_prepare *watcher, int events) {
    struct config_redis *redis = watcher->data;
    (void)loop, (void)events;
    redis_link_flush(redis->link);
}

/* --- life --- */

static char *joined(const char *prefix, const char *name) {
    struct buf text = BUF_INIT(1024);
    buf_adds(&text, prefix);
    buf_adds(&text, name);
    return buf_take(&text);
}

struct config_redis *config_redis_new(const struct config_redis_settings *settings,
                                      const struct config_redis_events *events, void *arg) {
    static const struct redis_script *const scripts[] = {&config_script};
    struct config_redis *redis = xcalloc(1, sizeof *redis);
    redis_script_init(&config_script);
    redis->loop = settings->loop;
    redis->settings = *settings->redis;
    redis->settings.timeout_ms = TIMEOUT_MS;
    redis->hash = joined(settings->key_prefix, "config");
    redis->instances = joined(settings->key_prefix, "instances");
    config_nonce_make(redis->instance);
    redis->events = events;
    redis->arg = arg;
    atomic_init(&redis->alive, 1);
    ev_timer_init(&redis->poll, on_poll, POLL_SECONDS, POLL_SECONDS);
    ev_prepare_init(&redis->flush, on_before_sleep);
    redis->poll.data = redis->flush.data = redis;
    ev_timer_start(redis->loop, &redis->poll);
    ev_prepare_start(redis->loop, &redis->flush);
    redis->link = redis_link_new(redis->loop, &redis->settings, scripts, 1, on_changed, redis);
    redis->subscriber =
        redis_subscriber_new(redis->loop, &redis->settings, redis->hash,
                             settings->follows ? "changes of the settings and clients forgotten elsewhere"
                                               : "clients forgotten elsewhere",
                             on_heard, redis);
    return redis;
}

void config_redis_free(struct config_redis *redis) {
    if (!redis) return;
    redis_subscriber_free(redis->subscriber);
    say_goodbye(redis);
    redis_link_free(redis->link);
    ev_timer_stop(redis->loop, &redis->poll);
    ev_prepare_stop(redis->loop, &redis->flush);
    free(redis->hash);
    free(redis->instances);
    free(redis);
}

const char *config_redis_key(const struct config_redis *redis) {
    return redis->hash;
}

unsigned config_redis_instances(const struct config_redis *redis) {
    return atomic_load(&redis->alive);
}

uint64_t config_redis_forgets(const struct config_redis *redis) {
    return atomic_load(&redis->forgets);
}

int64_t config_redis_read_us(const struct config_redis *redis) {
    return atomic_load(&redis->read_us);
}
