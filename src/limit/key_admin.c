/* Keys of clients in Redis, looked at, forgotten and listed by plain commands.
 *
 * Knows no algorithm: a key is shown as what it is, whatever should be there. */
#include "limit/key_admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xmalloc.h"
#include "limit/exact.h"
#include "limit/redis_key.h"

enum { ARGS_MAX = 6, NAME_MAX_BYTES = 1024, TEXT_MAX = 256 * 1024 };

struct key_admin {
    struct redis_link *link;
    const char *key_prefix;
};

struct key_admin *key_admin_new(struct redis_link *link, const char *key_prefix) {
    struct key_admin *admin = xcalloc(1, sizeof *admin);
    admin->link = link;
    admin->key_prefix = key_prefix;
    return admin;
}

void key_admin_free(struct key_admin *admin) {
    free(admin);
}

/* Words for a command that Redis did not carry out; NULL if it did. */
static const char *words_of(enum redis_status status, const char *error, char out[KEY_WHY_MAX]) {
    if (status == REDIS_OK) return NULL;
    if (status == REDIS_ERROR) {
        snprintf(out, KEY_WHY_MAX, "Redis answered: %s", error ? error : "an error");
    } else {
        snprintf(out, KEY_WHY_MAX,
                 status == REDIS_NOT_READY ? "Redis cannot be reached" : "Redis did not answer in time");
    }
    return out;
}

static void command(struct key_admin *admin, int argc, const char *const *argv, redis_done *done, void *arg) {
    size_t lengths[ARGS_MAX];
    for (int i = 0; i < argc; i++)
        lengths[i] = strlen(argv[i]);
    redis_link_command(admin->link, argc, argv, lengths, done, arg);
}

/* --- look --- */

/* One client looked at: a handful of commands for each limit, in one write. */
struct looking {
    key_look_done *done;
    void *arg;
    size_t missing; /* replies, and 1 while commands are still being sent */
    bool failed;
    char why[KEY_WHY_MAX];
    size_t count;
    struct key_state states[LIMITS_MAX];
};

typedef void probe_take(struct key_state *state, const struct redis_value *value);

struct probe_call {
    struct looking *looking;
    struct key_state *state;
    probe_take *take;
};

static void add_text(struct key_state *state, const struct redis_value *value, size_t *at, size_t *len) {
    size_t text_len = 0;
    const char *text = redis_value_str(value, &text_len);
    *at = state->text.len;
    buf_add(&state->text, text ? text : "", text_len);
    *len = state->text.len - *at;
}

/* A flat list of pairs. */
static void take_pairs(struct key_state *state, struct key_pairs *pairs, size_t most,
                       const struct redis_value *list) {
    size_t count = redis_value_count(list) / 2;
    for (size_t i = 0; i < count && pairs->count < most; i++) {
        struct key_pair *pair = &pairs->pairs[pairs->count++];
        add_text(state, redis_value_at(list, 2 * i), &pair->name, &pair->name_len);
        add_text(state, redis_value_at(list, 2 * i + 1), &pair->value, &pair->value_len);
    }
}

static void take_type(struct key_state *state, const struct redis_value *value) {
    const char *type = redis_value_str(value, NULL);
    snprintf(state->type, sizeof state->type, "%s", type ? type : "unknown");
}

static void take_ttl(struct key_state *state, const struct redis_value *value) {
    if (!redis_value_int(value, &state->ttl_ms)) state->ttl_ms = -1;
    state->ttl_ms = exact_min(state->ttl_ms, EXACT / 1000); /* somebody may have set 292 million years */
}

static void take_fields(struct key_state *state, const struct redis_value *value) {
    take_pairs(state, &state->fields, KEY_PAIRS_MAX, redis_value_at(value, 1));
}

static void take_members(struct key_state *state, const struct redis_value *value) {
    if (!redis_value_int(value, &state->members) || state->members < 0) state->members = 0;
}

static void take_oldest(struct key_state *state, const struct redis_value *value) {
    take_pairs(state, &state->oldest, KEY_ENTRIES_MAX, value);
}

static void take_newest(struct key_state *state, const struct redis_value *value) {
    take_pairs(state, &state->newest, KEY_ENTRIES_MAX, value);
}

/* Bounded, whatever lies at the key: HSCAN shows a small hash whole and of a large one a part. What does not
 * fit the key's type is answered WRONGTYPE, which is no fault here. */
static const struct probe {
    const char *before, *after[3]; /* what stands around the key */
    probe_take *take;
} probes[] = {
    {"TYPE", {NULL}, take_type},
    {"PTTL", {NULL}, take_ttl},
    {"HSCAN", {"0", "COUNT", "100"}, take_fields},
    {"ZCARD", {NULL}, take_members},
    {"ZRANGE", {"0", "4", "WITHSCORES"}, take_oldest},
    {"ZRANGE", {"-5", "-1", "WITHSCORES"}, take_newest},
};
enum { PROBES = sizeof probes / sizeof probes[0] };

static void looked(struct looking *looking) {
    if (--looking->missing > 0) return;
    struct key_look look = {looking->failed ? looking->why : NULL, looking->count, looking->states};
    looking->done(looking->arg, &look);
    for (size_t i = 0; i < looking->count; i++) {
        buf_free(&looking->states[i].name);
        buf_free(&looking->states[i].text);
    }
    free(looking);
}

static void on_probe(void *arg, enum redis_status status, const struct redis_value *value,
                     const char *error) {
    struct probe_call call = *(struct probe_call *)arg;
    bool wrong_type = status == REDIS_ERROR && error && strncmp(error, "WRONGTYPE", 9) == 0;
    free(arg);
    if (status == REDIS_OK) {
        call.take(call.state, value);
    } else if (!wrong_type) {
        words_of(status, error, call.looking->why);
        call.looking->failed = true;
    }
    looked(call.looking);
}

static void send_probe(struct key_admin *admin, struct looking *looking, struct key_state *state,
                       const struct probe *probe) {
    const char *argv[ARGS_MAX] = {probe->before, buf_str(&state->name)};
    int argc = 2;
    for (size_t i = 0; i < 3 && probe->after[i]; i++)
        argv[argc++] = probe->after[i];
    struct probe_call *call = xmalloc(sizeof *call);
    *call = (struct probe_call){looking, state, probe->take};
    command(admin, argc, argv, on_probe, call);
}

void key_admin_look(struct key_admin *admin, const struct policy *policy, const char *key, size_t key_len,
                    key_look_done *done, void *arg) {
    struct looking *looking = xcalloc(1, sizeof *looking);
    looking->done = done;
    looking->arg = arg;
    looking->count = policy->limit_count;
    looking->missing = policy->limit_count * PROBES + 1;
    for (size_t i = 0; i < policy->limit_count; i++) {
        struct key_state *state = &looking->states[i];
        state->name = (struct buf)BUF_INIT(NAME_MAX_BYTES);
        state->text = (struct buf)BUF_INIT(TEXT_MAX);
        redis_key_add(&state->name, admin->key_prefix, policy->name, policy->limits[i].name, key, key_len);
        for (size_t p = 0; p < PROBES; p++)
            send_probe(admin, looking, state, &probes[p]);
    }
    looked(looking);
}

/* --- forget --- */

struct forgetting {
    key_forget_done *done;
    void *arg;
};

static void on_forgotten(void *arg, enum redis_status status, const struct redis_value *value,
                         const char *error) {
    struct forgetting forgetting = *(struct forgetting *)arg;
    char words[KEY_WHY_MAX];
    int64_t removed = 0;
    free(arg);
    const char *why = words_of(status, error, words);
    if (!why && !redis_value_int(value, &removed)) why = "Redis gave a reply that is no number";
    forgetting.done(forgetting.arg, removed, why);
}

void key_admin_forget(struct key_admin *admin, const struct policy *policy, const char *key, size_t key_len,
                      key_forget_done *done, void *arg) {
    struct buf names[LIMITS_MAX];
    const char *argv[1 + LIMITS_MAX] = {"UNLINK"};
    struct forgetting *forgetting = xmalloc(sizeof *forgetting);
    *forgetting = (struct forgetting){done, arg};
    for (size_t i = 0; i < policy->limit_count; i++) {
        names[i] = (struct buf)BUF_INIT(NAME_MAX_BYTES);
        redis_key_add(&names[i], admin->key_prefix, policy->name, policy->limits[i].name, key, key_len);
        argv[1 + i] = buf_str(&names[i]);
    }
    command(admin, 1 + (int)policy->limit_count, argv, on_forgotten, forgetting);
    for (size_t i = 0; i < policy->limit_count; i++)
        buf_free(&names[i]);
}

/* --- list --- */

struct key_page {
    const struct policy *policy;
    const char *key_prefix;
    const struct redis_value *reply;
};

struct scanning {
    struct key_page page; /* its reply comes later */
    key_scan_done *done;
    void *arg;
};

const char *key_page_cursor(const struct key_page *page) {
    const char *cursor = redis_value_str(redis_value_at(page->reply, 0), NULL);
    return cursor ? cursor : "0";
}

size_t key_page_count(const struct key_page *page) {
    return redis_value_count(redis_value_at(page->reply, 1));
}

bool key_page_read(const struct key_page *page, size_t index, struct key_found *found, struct buf *key) {
    const struct policy *policy = page->policy;
    struct redis_key_parts parts;
    found->name = redis_value_str(redis_value_at(redis_value_at(page->reply, 1), index), &found->name_len);
    if (!found->name ||
        !redis_key_read(found->name, found->name_len, page->key_prefix, policy->name, &parts, key))
        return false;
    found->hashed = parts.hashed;
    for (size_t i = 0; i < policy->limit_count; i++) {
        found->limit = policy->limits[i].name;
        if (strlen(found->limit) == parts.limit_len &&
            memcmp(found->limit, parts.limit, parts.limit_len) == 0)
            return true;
    }
    return false;
}

static void on_scanned(void *arg, enum redis_status status, const struct redis_value *value,
                       const char *error) {
    struct scanning scanning = *(struct scanning *)arg;
    char words[KEY_WHY_MAX];
    free(arg);
    const char *why = words_of(status, error, words);
    scanning.page.reply = value;
    scanning.done(scanning.arg, why ? NULL : &scanning.page, why);
}

void key_admin_scan(struct key_admin *admin, const struct policy *policy, const char *cursor, int64_t count,
                    key_scan_done *done, void *arg) {
    struct buf pattern = BUF_INIT(NAME_MAX_BYTES);
    char count_text[24];
    struct scanning *scanning = xmalloc(sizeof *scanning);
    *scanning = (struct scanning){{policy, admin->key_prefix, NULL}, done, arg};
    redis_key_pattern(&pattern, admin->key_prefix, policy->name);
    snprintf(count_text, sizeof count_text, "%lld", (long long)count);
    const char *argv[] = {"SCAN", cursor, "MATCH", buf_str(&pattern), "COUNT", count_text};
    command(admin, 6, argv, on_scanned, scanning);
    buf_free(&pattern);
}
