/* Keys of clients in Redis, for an administrator: look at one, forget one, list a policy's.
 *
 * Looking and listing write nothing. One a worker, one thread. Every call is answered exactly once, at the
 * latest a moment after the link's time-out. */
#ifndef RL_LIMIT_KEY_ADMIN_H
#define RL_LIMIT_KEY_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "limit/decision.h"
#include "limit/policy.h"
#include "redis/redis_link.h"

struct key_admin;

/* `link` and `key_prefix` outlive it. */
struct key_admin *key_admin_new(struct redis_link *link, const char *key_prefix);
void key_admin_free(struct key_admin *admin);

enum { KEY_PAIRS_MAX = 80, KEY_ENTRIES_MAX = 5, KEY_TYPE_MAX = 16, KEY_WHY_MAX = 256 };

/* Two texts out of a reply: field and value of a hash, member and score of a sorted set. */
struct key_pair {
    size_t name, name_len, value, value_len; /* into key_state.text */
};

struct key_pairs {
    size_t count;
    struct key_pair pairs[KEY_PAIRS_MAX];
};

/* What Redis holds of a client under one limit. */
struct key_state {
    struct buf name;                 /* of the key */
    char type[KEY_TYPE_MAX];         /* as Redis calls it: "hash", "zset", "none" */
    int64_t ttl_ms;                  /* -1: never expires; -2: there is no key */
    int64_t members;                 /* of a sorted set */
    struct key_pairs fields;         /* of a hash */
    struct key_pairs oldest, newest; /* of a sorted set: KEY_ENTRIES_MAX from either end */
    struct buf text;
};

/* `why`: NULL, or words (less than KEY_WHY_MAX bytes) that say why Redis gave no answer; the rest is void
 * then. All of it is valid during the callback. `policy` must live until then; keys are copied. */
struct key_look {
    const char *why;
    size_t count;
    const struct key_state *states; /* in the order of the policy's limits */
};
typedef void key_look_done(void *arg, const struct key_look *look);
void key_admin_look(struct key_admin *admin, const struct policy *policy, const char *key, size_t key_len,
                    key_look_done *done, void *arg);

/* Deletes the keys of a client under all limits of the policy; `removed` tells how many there were. */
typedef void key_forget_done(void *arg, int64_t removed, const char *why);
void key_admin_forget(struct key_admin *admin, const struct policy *policy, const char *key, size_t key_len,
                      key_forget_done *done, void *arg);

struct key_page; /* a step of SCAN */
struct key_found {
    const char *name; /* in Redis */
    size_t name_len;
    const char *limit;
    bool hashed; /* K is not known: only its beginning and a hash are in the name */
};
const char *key_page_cursor(const struct key_page *page); /* where the next page begins; "0" after the last */
size_t key_page_count(const struct key_page *page);
/* Number `index` of the page, K appended to `key`. False if it belongs to none of the policy's limits. */
bool key_page_read(const struct key_page *page, size_t index, struct key_found *found, struct buf *key);

/* `cursor`: "0" to begin with, else what the last page said. `count`: how many keys Redis looks at. */
typedef void key_scan_done(void *arg, const struct key_page *page, const char *why);
void key_admin_scan(struct key_admin *admin, const struct policy *policy, const char *cursor, int64_t count,
                    key_scan_done *done, void *arg);

#endif
