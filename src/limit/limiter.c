/* One decision by the script: its arguments out, its reply in, and the policy's answer when Redis gives none.
 *
 * It does no arithmetic of limits (lua/) and holds no connection (redis/). */
#include "limit/limiter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "base/log.h"
#include "base/xmalloc.h"
#include "limit/decide_script.h"
#include "limit/redis_key.h"
#include "limit/script_reply.h"
#include "redis/redis_fault.h"

enum {
    ARGS_HEAD = 1, /* cost */
    ARGS_PER_LIMIT = PARAMS_MAX,
    ARGS_OPTIONS = 3, /* mode, longest delay, time */
    ARGV_MAX = LIMITS_MAX + ARGS_HEAD + ARGS_PER_LIMIT * LIMITS_MAX + ARGS_OPTIONS + LIMITS_MAX,
    TEXT_MAX = 16 * 1024,
    TAG_MAX = LOCAL_KEY_TEXT_MAX,
    SPARE_MAX = 4096,
    COMPLAIN_EVERY_US = 10000000
};

/* A decision on its way. */
struct pending {
    SLIST_ENTRY(pending) next; /* among the spare ones */
    struct limiter *limiter;
    const struct policy *policy;
    limiter_done *done;
    void *arg;
    int64_t cost;
    enum limiter_mode mode;
    int64_t sent_us;     /* monotonic */
    uint64_t denial_age; /* of the cache of denials then */
    size_t tag_len;
    char tag[TAG_MAX]; /* "{key}" as Redis has it, for the case that Redis does not decide */
};

struct limiter {
    struct redis_link *link;
    struct local_limiter *local;
    const char *key_prefix;
    SLIST_HEAD(spare_list, pending) spare;
    int spare_count;
    struct buf text; /* scratch: keys and arguments, one after the other */
    size_t starts[ARGV_MAX + 1];
    int argc;
    int64_t complain_after_us;    /* monotonic */
    struct denial_cache *denials; /* NULL: none */
    limiter_news *news;
    void *news_arg;
};

struct limiter *limiter_new(struct redis_link *link, struct local_limiter *local, const char *key_prefix) {
    struct limiter *limiter = xcalloc(1, sizeof *limiter);
    limiter->link = link;
    limiter->local = local;
    limiter->key_prefix = key_prefix;
    limiter->text = (struct buf)BUF_INIT(TEXT_MAX);
    SLIST_INIT(&limiter->spare);
    return limiter;
}

void limiter_free(struct limiter *limiter) {
    if (!limiter) return;
    struct pending *pending;
    while ((pending = SLIST_FIRST(&limiter->spare))) {
        SLIST_REMOVE_HEAD(&limiter->spare, next);
        free(pending);
    }
    buf_free(&limiter->text);
    denial_cache_free(limiter->denials);
    free(limiter);
}

void limiter_use_cache(struct limiter *limiter, struct denial_cache *cache, limiter_news *news, void *arg) {
    limiter->denials = cache;
    limiter->news = news;
    limiter->news_arg = arg;
}

void limiter_forget_denials(struct limiter *limiter) {
    if (limiter && limiter->denials) denial_cache_clear(limiter->denials);
}

static struct pending *pending_new(struct limiter *limiter) {
    struct pending *pending = SLIST_FIRST(&limiter->spare);
    if (!pending) return xmalloc(sizeof *pending);
    SLIST_REMOVE_HEAD(&limiter->spare, next);
    limiter->spare_count--;
    return pending;
}

static void pending_free(struct limiter *limiter, struct pending *pending) {
    if (limiter->spare_count >= SPARE_MAX) {
        free(pending);
        return;
    }
    SLIST_INSERT_HEAD(&limiter->spare, pending, next);
    limiter->spare_count++;
}

/* --- arguments --- */

/* What was added to `text` since the last call is one argument. */
static void end_arg(struct limiter *limiter) {
    limiter->starts[++limiter->argc] = limiter->text.len;
}

static void add_text(struct limiter *limiter, const char *text) {
    buf_adds(&limiter->text, text);
    end_arg(limiter);
}

static void add_int(struct limiter *limiter, int64_t value) {
    buf_add_int(&limiter->text, value);
    end_arg(limiter);
}

static void add_keys(struct limiter *limiter, const struct policy *policy, const char *key, size_t key_len) {
    buf_clear(&limiter->text);
    limiter->argc = 0;
    limiter->starts[0] = 0;
    for (size_t i = 0; i < policy->limit_count; i++) {
        redis_key_add(&limiter->text, limiter->key_prefix, policy->name, policy->limits[i].name, key,
                      key_len);
        end_arg(limiter);
    }
}

static int64_t longest_delay(const struct policy *policy) {
    return policy->on_limit == ON_LIMIT_DELAY ? policy->max_delay_us : 0;
}

/* What is as usual, the script knows. */
static void add_options(struct limiter *limiter, const struct policy *policy, enum limiter_mode mode) {
    static const char *const modes[] = {[LIMITER_TAKE] = "take",
                                        [LIMITER_TAKE_NOW] = "now",
                                        [LIMITER_PEEK] = "peek",
                                        [LIMITER_LOOK] = "look"};
    int64_t delay = longest_delay(policy);
    bool several = policy->limit_count > 1;
    if (mode == LIMITER_TAKE && delay == 0 && !several) return;
    add_text(limiter, modes[mode]);
    add_int(limiter, delay);
    if (!several) return;
    add_text(limiter, ""); /* Redis's time */
    for (size_t i = 0; i < policy->limit_count; i++)
        add_text(limiter, policy->limits[i].algorithm->name);
}

static void add_arguments(struct limiter *limiter, const struct policy *policy, int64_t cost,
                          enum limiter_mode mode) {
    add_int(limiter, cost * MICRO);
    for (size_t i = 0; i < policy->limit_count; i++) {
        for (size_t p = 0; p < PARAMS_MAX; p++)
            add_int(limiter, policy->limits[i].params[p]);
    }
    add_options(limiter, policy, mode);
}

/* --- denials that are known --- */

/* Shadow and peeks go past the cache, and so does a key that may have been cut. So do requests that may not
 * wait under a policy that delays: while they are denied others may still get in line. */
static bool is_cached(const struct pending *pending) {
    return pending->limiter->denials && pending->mode == LIMITER_TAKE &&
           pending->policy->on_limit != ON_LIMIT_SHADOW && pending->tag_len < TAG_MAX;
}

static struct denial_request denial_request_of(const struct pending *pending) {
    return (struct denial_request){
        .policy = pending->policy, .key = pending->tag, .key_len = pending->tag_len, .cost = pending->cost};
}

static bool find_denial(struct pending *pending, struct decision *decision) {
    struct limiter *limiter = pending->limiter;
    if (!is_cached(pending) || redis_link_state(limiter->link) != REDIS_READY) return false;
    struct denial_request request = denial_request_of(pending);
    struct denial_news news = limiter->news(limiter->news_arg);
    bool found = denial_cache_find(limiter->denials, &request, &news, pending->sent_us, decision);
    pending->denial_age = denial_cache_age(limiter->denials);
    return found;
}

static void keep_denial(const struct pending *pending, const struct decision *decision, int64_t now_us) {
    if (decision->outcome != DECISION_DENIED || !is_cached(pending)) return;
    struct denial_request request = denial_request_of(pending);
    denial_cache_keep(pending->limiter->denials, &request, decision, pending->denial_age, pending->sent_us,
                      now_us);
}

/* --- reply --- */

static int64_t longest_of(const struct pending *pending) {
    return pending->mode == LIMITER_TAKE_NOW ? 0 : longest_delay(pending->policy);
}

static void decide_here(const struct pending *pending, struct decision *decision) {
    struct local_limiter *local = pending->limiter->local;
    const struct local_request request = {
        .now_us = local_limiter_now(local, clock_wall_us(), clock_mono_us()),
        .cost = pending->cost,
        .max_delay_us = longest_delay(pending->policy),
        .at_once = pending->mode == LIMITER_TAKE_NOW,
        .take = pending->mode == LIMITER_TAKE || pending->mode == LIMITER_TAKE_NOW};
    local_limiter_decide(local, pending->policy, pending->tag, pending->tag_len, &request, decision);
}

/* Redis gave no decision: the policy says what that means. */
static void decide_without(const struct pending *pending, struct decision *decision) {
    bool closed = pending->policy->on_redis_error == ON_REDIS_ERROR_CLOSED;
    if (pending->policy->on_redis_error == ON_REDIS_ERROR_LOCAL) {
        decide_here(pending, decision);
        return;
    }
    *decision = (struct decision){.outcome = closed ? DECISION_UNAVAILABLE : DECISION_ALLOWED,
                                  .source = SOURCE_NONE,
                                  .cost = pending->cost};
}

/* Redis is there and does not decide (no permission, no memory ...): somebody has to see to it, so it is
 * said, but not for each request. That it is away, the link says. */
static void complain(struct limiter *limiter, const char *error) {
    int64_t now_us = clock_mono_us();
    char words[REDIS_FAULT_WORDS] = "a reply that is not the script's";
    if (now_us < limiter->complain_after_us || (error && redis_fault_of(error)->away)) return;
    limiter->complain_after_us = now_us + COMPLAIN_EVERY_US;
    if (error) redis_fault_describe(error, words, sizeof words);
    log_warn("Redis does not decide: %s", words);
}

/* on_limit "shadow": told, and let through. */
static void apply_shadow(const struct policy *policy, struct decision *decision) {
    if (policy->on_limit != ON_LIMIT_SHADOW || decision->outcome != DECISION_DENIED) return;
    decision->outcome = DECISION_ALLOWED;
    decision->shadow_denied = true;
}

/* Redis is there; should it go away, this is where the client stands. */
static void remember(const struct pending *pending, const struct decision *decision) {
    int64_t now_us = clock_mono_us();
    keep_denial(pending, decision, now_us);
    local_limiter_rest(pending->limiter->local);
    if (pending->policy->on_redis_error == ON_REDIS_ERROR_LOCAL)
        local_limiter_saw(pending->limiter->local, pending->policy, pending->tag, pending->tag_len, decision,
                          now_us);
}

static void finish(struct pending *pending, const struct decision *decision) {
    limiter_done *done = pending->done;
    void *done_arg = pending->arg;
    pending_free(pending->limiter, pending); /* may serve the next decision, which `done` may ask for */
    done(done_arg, decision);
}

static void on_reply(void *arg, enum redis_status status, const struct redis_value *value,
                     const char *error) {
    struct pending *pending = arg;
    struct limiter *limiter = pending->limiter;
    struct decision decision = {.cost = pending->cost};
    const struct policy *policy = pending->policy;
    if (status == REDIS_OK &&
        script_reply_read(value, policy->limits, policy->limit_count, longest_of(pending), &decision)) {
        remember(pending, &decision);
    } else {
        if (status == REDIS_OK || status == REDIS_ERROR) complain(limiter, error);
        decide_without(pending, &decision);
    }
    apply_shadow(policy, &decision);
    finish(pending, &decision);
}

/* The end of the first key, from '{' on, is what tells clients of one limit apart. */
static void keep_tag(struct pending *pending, const struct limiter *limiter, const struct policy *policy) {
    size_t head = strlen(limiter->key_prefix) + strlen(policy->name) + strlen(policy->limits[0].name) + 2;
    size_t len = limiter->starts[1] > head ? limiter->starts[1] - head : 0;
    pending->tag_len = len < TAG_MAX ? len : TAG_MAX;
    if (len > 0) memcpy(pending->tag, limiter->text.data + head, pending->tag_len);
}

static void send_question(struct pending *pending) {
    struct limiter *limiter = pending->limiter;
    const char *argv[ARGV_MAX];
    size_t lengths[ARGV_MAX];
    for (int i = 0; i < limiter->argc; i++) {
        argv[i] = limiter->text.data + limiter->starts[i];
        lengths[i] = limiter->starts[i + 1] - limiter->starts[i];
    }
    redis_link_eval(limiter->link, decide_script_of(pending->policy), (int)pending->policy->limit_count,
                    limiter->argc, argv, lengths, on_reply, pending);
}

void limiter_decide(struct limiter *limiter, const struct policy *policy, const char *key, size_t key_len,
                    int64_t cost, enum limiter_mode mode, limiter_done *done, void *arg) {
    struct pending *pending = pending_new(limiter);
    struct decision denial;
    pending->limiter = limiter;
    pending->policy = policy;
    pending->done = done;
    pending->arg = arg;
    pending->cost = cost;
    pending->mode = mode;
    pending->sent_us = clock_mono_us();
    pending->denial_age = 0;
    add_keys(limiter, policy, key, key_len);
    keep_tag(pending, limiter, policy);
    if (find_denial(pending, &denial)) {
        finish(pending, &denial);
        return;
    }
    add_arguments(limiter, policy, cost, mode);
    if (limiter->text.overflow) /* only a prefix of absurd length gets here */
        on_reply(pending, REDIS_NOT_READY, NULL, NULL);
    else
        send_question(pending);
}
