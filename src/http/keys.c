/* /admin/keys: what Redis holds of a policy's clients; look at one, forget one, list them.
 *
 * Meets no Redis: key_admin does. A look changes nothing, which is why its decision is a LIMITER_LOOK. */
#include <string.h>

#include "base/json_out.h"
#include "base/xmalloc.h"
#include "http/fields.h"
#include "http/handlers.h"
#include "http/key_json.h"
#include "http/query.h"
#include "http/respond.h"
#include "http/services.h"
#include "limit/key_admin.h"

enum field { POLICY, KEY, CURSOR, COUNT, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = {"policy", "key", "cursor", "count"};

enum { COUNT_DEFAULT = 100, COUNT_MOST = 1000, CURSOR_DIGITS_MAX = 20 };

/* What must outlive the handler; freed with the request. */
struct keys {
    const struct policy *policy;
    struct decision decision;
    size_t key_len;
    char key[];
};

static const struct keys *keep(struct request *request, const struct policy *policy,
                               const struct uri_param *key) {
    size_t len = key ? key->value_len : 0;
    struct keys *keys = xcalloc(1, sizeof *keys + len + 1);

    keys->policy = policy;
    keys->key_len = len;
    if (key) memcpy(keys->key, key->value, len);
    request->state = keys;
    return keys;
}

/* Redis gave no answer, and what follows from that. */
static void refuse_away(struct request *request, const char *why, const char *so) {
    request_reply_header(request, "Retry-After", "1");
    respond_problem(request, 503, NULL, "%s, so %s.", why, so);
}

static void begin_body(struct json_out *json, struct buf *body, const struct keys *keys) {
    json_begin(json, body);
    json_object(json, NULL);
    json_str(json, "policy", keys->policy->name);
}

/* --- one client --- */

static void write_limit(struct json_out *json, const char *limit, const struct key_state *state) {
    json_object(json, NULL);
    json_str(json, "name", limit);
    key_json_write(json, state);
    json_end(json);
}

static void on_looked(void *arg, const struct key_look *look) {
    struct request *request = arg;
    const struct keys *keys = request->state;
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    if (look->why) {
        refuse_away(request, look->why, "the keys cannot be read");
        return;
    }
    begin_body(&json, &body, keys);
    json_strn(&json, "key", keys->key, keys->key_len);
    json_object(&json, "decision");
    respond_write_decision(&json, keys->policy, keys->key, keys->key_len, &keys->decision);
    json_end(&json);
    json_array(&json, "limits");
    for (size_t i = 0; i < look->count; i++)
        write_limit(&json, keys->policy->limits[i].name, &look->states[i]);
    json_end(&json);
    json_end(&json);
    respond_json(request, 200, &body);
}

static void on_decision(void *arg, const struct decision *decision) {
    struct request *request = arg;
    struct keys *keys = request->state;

    keys->decision = *decision;
    key_admin_look(request->services->keys, keys->policy, keys->key, keys->key_len, on_looked, request);
}

static void forget_denials(const struct services *services, void *arg) {
    (void)arg;
    limiter_forget_denials(services->limiter);
}

/* Whoever remembers a denial is not to repeat it: this process at once, others when they hear of it. */
static void forget_everywhere(const struct services *services) {
    const struct services_task task = {.run = forget_denials};

    limiter_forget_denials(services->limiter);
    services->everywhere(services->everywhere_arg, &task);
    config_store_forget(services->store);
}

static void on_forgotten(void *arg, int64_t removed, const char *why) {
    struct request *request = arg;
    const struct keys *keys = request->state;
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    if (!why) forget_everywhere(request->services);
    if (why) {
        refuse_away(request, why, "the client may not be forgotten");
    } else if (removed == 0) {
        respond_problem(request, 404, "key", "Redis holds nothing of this key under policy %s.",
                        keys->policy->name);
    } else {
        begin_body(&json, &body, keys);
        json_strn(&json, "key", keys->key, keys->key_len);
        json_int(&json, "forgotten", removed);
        json_end(&json);
        respond_json(request, 200, &body);
    }
}

/* --- all of a policy --- */

static void write_page(struct json_out *json, const struct key_page *page) {
    for (size_t i = 0; i < key_page_count(page); i++) {
        struct buf key = BUF_INIT(RESPOND_BODY_MAX);
        struct key_found found;

        if (key_page_read(page, i, &found, &key)) {
            json_object(json, NULL);
            if (found.hashed)
                json_null(json, "key");
            else
                json_strn(json, "key", buf_str(&key), key.len);
            json_str(json, "limit", found.limit);
            json_strn(json, "redis_key", found.name, found.name_len);
            json_end(json);
        }
        buf_free(&key);
    }
}

static void on_scanned(void *arg, const struct key_page *page, const char *why) {
    struct request *request = arg;
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);
    struct json_out json;

    if (why) {
        refuse_away(request, why, "the keys cannot be listed");
        return;
    }
    begin_body(&json, &body, request->state);
    json_str(&json, "cursor", key_page_cursor(page));
    json_array(&json, "keys");
    write_page(&json, page);
    json_end(&json);
    json_end(&json);
    respond_json(request, 200, &body);
}

static bool is_cursor(const struct uri_param *param) {
    size_t digits = strspn(param->value, "0123456789");

    return digits > 0 && digits == param->value_len && digits <= CURSOR_DIGITS_MAX;
}

static void list(struct request *request, const struct policy *policy,
                 const struct uri_param *const *fields) {
    const struct uri_param *cursor = fields[CURSOR], *count_param = fields[COUNT];
    int64_t count = COUNT_DEFAULT;

    if (cursor && !is_cursor(cursor)) {
        respond_problem(request, 400, "cursor",
                        "cursor must be that of the page before, or left out to begin.");
    } else if (count_param && (!field_whole(count_param->value, count_param->value_len, &count) ||
                               count < 1 || count > COUNT_MOST)) {
        respond_problem(request, 400, "count", "count must be a whole number from 1 to %d.", COUNT_MOST);
    } else {
        keep(request, policy, NULL);
        key_admin_scan(request->services->keys, policy, cursor ? cursor->value : "0", count, on_scanned,
                       request);
    }
}

/* --- both --- */

static const struct policy *read_policy(struct request *request, const struct uri_param *name) {
    if (!name || name->value_len == 0) {
        respond_problem(request, 400, "policy", "policy is missing; /admin/keys needs ?policy=NAME.");
        return NULL;
    }
    const struct policy *policy = config_policy(request->config, name->value, name->value_len);
    if (!policy) respond_problem(request, 404, "policy", "There is no policy %.64s.", name->value);
    return policy;
}

/* False if it has been answered. */
static bool check_key(struct request *request, const struct uri_param *const *fields) {
    const struct uri_param *key = fields[KEY];

    if (!key && request->method == HTTP_DELETE) {
        respond_problem(request, 400, "key", "key is missing; it names the client to forget.");
    } else if (key && (key->value_len == 0 || key->value_len > KEY_TEXT_MAX)) {
        respond_problem(request, 400, "key", "key must be 1 to %d bytes; got %zu.", KEY_TEXT_MAX,
                        key->value_len);
    } else if (key && (fields[CURSOR] || fields[COUNT])) {
        respond_problem(request, 400, "key",
                        "key asks for one client, cursor and count for a list; give one.");
    } else {
        return true;
    }
    return false;
}

void admin_keys(struct request *request) {
    const struct uri_param *fields[FIELD_COUNT];
    const struct services *services = request->services;
    const struct policy *policy;

    if (!query_read(request, field_names, FIELD_COUNT, fields)) return;
    policy = read_policy(request, fields[POLICY]);
    if (!policy || !check_key(request, fields)) return;
    if (!fields[KEY]) {
        list(request, policy, fields);
        return;
    }
    const struct keys *keys = keep(request, policy, fields[KEY]);
    if (request->method == HTTP_DELETE)
        key_admin_forget(services->keys, policy, keys->key, keys->key_len, on_forgotten, request);
    else
        limiter_decide(services->limiter, policy, keys->key, keys->key_len, policy->cost, LIMITER_LOOK,
                       on_decision, request);
}
