/* One change after the other: look at what is in Redis, apply, write by compare-and-set, and again if
 * somebody was faster; answered when the workers have it.
 *
 * A change's nonce marks what it wrote, so that it knows its own work again when a reply was lost. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xmalloc.h"
#include "config/config_store_internal.h"

/* After this no further step is begun; with the time for the last replies it stays below the five seconds
 * that a stop of the server gives. */
static const int64_t PATIENCE_US = 2500000;

void config_store_drop_change(struct store_change *change) {
    config_unref(change->result);
    free((char *)(uintptr_t)change->what.policy);
    free((char *)(uintptr_t)change->what.body);
    free(change);
}

/* --- the end of a change --- */

/* On the caller's thread. */
static void deliver(void *arg) {
    struct store_change *change = arg;
    change->done(change->arg, change->result, change->created, change->result ? NULL : &change->why);
    config_store_drop_change(change);
}

/* Any thread. */
static void hand_back(void *arg) {
    struct store_change *change = arg;
    const struct config_host *host = &change->store->host;
    host->post(host->arg, change->caller, deliver, change);
}

static void let_go(struct config_store *store) {
    store->busy = NULL;
    ev_timer_stop(store->loop, &store->patience);
    ev_async_send(store->loop, &store->wake); /* for the next one */
}

/* `words` NULL: `change->why` is filled already. */
static void refuse(struct store_change *change, unsigned status, const char *words, const char *why) {
    struct config_store *store = change->store;
    if (store->stopping) return;
    config_unref(change->result);
    change->result = NULL;
    if (words) {
        change->why.status = status;
        err_set(&change->why.err, "%s%s%s", words, why ? ": " : "", why ? why : "");
    }
    let_go(store);
    hand_back(change);
}

/* The workers have been given it before or are given it now; the answer comes behind. */
static void succeed(struct store_change *change, struct config *result) {
    struct config_store *store = change->store;
    change->result = config_ref(result);
    let_go(store);
    config_store_use(store, config_ref(result), hand_back, change);
}

/* --- trying --- */

static bool is_reset(const struct store_change *change) {
    return change->what.verb == CONFIG_DELETE && !change->what.policy;
}

static int check(struct store_change *change) {
    const struct config_store *store = change->store;
    uint64_t version = store->known.nonce[0] ? store->known.version : store->ours.version;
    if (change->if_match != CONFIG_ANY_VERSION && change->if_match != version) {
        change->why.status = 412;
        return err_set(&change->why.err, "somebody else changed the settings: now version %llu, not %llu",
                       (unsigned long long)version, (unsigned long long)change->if_match);
    }
    if (store->refused && !is_reset(change)) {
        change->why.status = 409;
        return err_set(
            &change->why.err,
            "the settings in Redis (%s, version %llu) are none that this version of ratelimitd can read "
            "(%.200s), so they are not changed; DELETE /admin/config takes them away",
            config_redis_key(store->redis), (unsigned long long)version, store->refusal.err.text);
    }
    return 0;
}

/* Back to the settings of the start. The current snapshot if they are in use. */
static struct config *reset(struct config_store *store, struct config_refusal *why) {
    uint64_t version =
        store->known.version > store->ours.version ? store->known.version : store->ours.version;
    bool is_there = store->known.nonce[0] && !store->deleted;
    if (!is_there && !store->ours.nonce[0]) return config_ref(store->current);
    if (store->deleted && !store->refused) return config_ref(store->current);
    return config_parse(store->first->json, store->first->json_len, version + 1, why);
}

/* The next snapshot, with a reference; NULL when refused. */
static struct config *apply(struct store_change *change) {
    struct config_store *store = change->store;
    if (check(change) < 0) return NULL;
    if (is_reset(change)) return reset(store, &change->why);
    return config_apply(store->current, &change->what, &change->created, &change->why);
}

static void on_written(void *arg, enum config_answer answer, const struct config_seen *seen, const char *why);

static void attempt(struct store_change *change) {
    struct config_store *store = change->store;
    config_unref(change->result);
    change->created = false;
    change->result = apply(change);
    struct config *next = change->result;
    if (!next) {
        refuse(change, 0, NULL, NULL);
        return;
    }
    if (next == store->current) {
        change->result = NULL;
        succeed(change, next);
        config_unref(next);
        return;
    }
    struct config_identity identity = {.version = next->version};
    bool deletes = is_reset(change);
    memcpy(identity.nonce, change->nonce, sizeof identity.nonce);
    change->expected = store->known;
    config_redis_write(store->redis, &store->known, &identity, deletes ? "" : next->json,
                       deletes ? 0 : next->json_len, on_written, change);
}

/* What was written is in force. */
static void complete(struct store_change *change) {
    struct config_store *store = change->store;
    struct config *next = change->result;
    change->result = NULL;
    store->ours.version = next->version;
    memcpy(store->ours.nonce, change->nonce, sizeof store->ours.nonce);
    store->known = store->ours;
    store->deleted = is_reset(change);
    store->refused = false;
    succeed(change, next);
    config_unref(next);
}

static void refuse_unsure(struct store_change *change) {
    refuse(change, 503,
           "Redis was lost while the change was being made, so it may or may not come into force; "
           "read the settings before you try again",
           NULL);
}

static void try_in_time(struct store_change *change) {
    if (clock_mono_us() < change->deadline_us)
        attempt(change);
    else
        refuse(change, 503, "other changes left no time for this one, and it was not made; try again", NULL);
}

static void on_written(void *arg, enum config_answer answer, const struct config_seen *seen,
                       const char *why) {
    struct store_change *change = arg;
    switch (answer) {
    case CONFIG_WRITTEN:
        complete(change);
        break;
    case CONFIG_SEEN:
        config_store_follow(change->store, seen);
        try_in_time(change);
        break;
    case CONFIG_FAILED:
        refuse(change, 503, "the change was not made", why);
        break;
    case CONFIG_UNKNOWN: /* config_store_resume_change looks what became of it */
        change->unsure = true;
        break;
    }
}

/* --- a lost reply --- */

static void on_looked_again(void *arg, enum config_answer answer, const struct config_seen *seen,
                            const char *why) {
    struct store_change *change = arg;
    (void)why;
    if (answer != CONFIG_SEEN) {
        change->unsure = true; /* until Redis is there, or patience ends */
        return;
    }
    bool done = strcmp(seen->identity.nonce, change->nonce) == 0;
    bool undone = config_identity_same(&seen->identity, &change->expected);
    if (done) {
        complete(change);
        return;
    }
    config_store_follow(change->store, seen);
    if (undone)
        attempt(change); /* with the same nonce: should the first one come after all, it is known again */
    else
        refuse_unsure(change);
}

void config_store_resume_change(struct config_store *store) {
    struct store_change *change = store->busy;
    if (!change || !change->unsure) return;
    change->unsure = false;
    config_redis_read(store->redis, &store->known, on_looked_again, change);
}

void config_store_on_patience(struct ev_loop *loop, ev_timer *timer, int events) {
    struct config_store *store = timer->data;
    (void)loop, (void)events;
    if (store->busy && store->busy->unsure) refuse_unsure(store->busy);
}

/* --- the beginning of a change --- */

static void on_looked(void *arg, enum config_answer answer, const struct config_seen *seen, const char *why) {
    struct store_change *change = arg;
    if (answer != CONFIG_SEEN) {
        refuse(change, 503, "the change was not made", why ? why : "Redis does not answer");
        return;
    }
    config_store_follow(change->store, seen);
    try_in_time(change);
}

static void begin(struct store_change *change) {
    struct config_store *store = change->store;
    int64_t now_us = clock_mono_us();
    int64_t left_us = change->deadline_us > now_us ? change->deadline_us - now_us : 0;
    store->busy = change;
    if (store->file) {
        refuse(change, 409,
               "the settings come from the file of --config; edit it and send SIGHUP to this process",
               store->file);
        return;
    }
    ev_timer_set(&store->patience, (double)left_us / 1e6, 0.25);
    ev_timer_start(store->loop, &store->patience);
    config_redis_read(store->redis, &store->known, on_looked, change);
}

void config_store_next_change(struct config_store *store) {
    if (store->busy) return;
    pthread_mutex_lock(&store->lock);
    struct store_change *change = STAILQ_FIRST(&store->queue);
    if (change) STAILQ_REMOVE_HEAD(&store->queue, next);
    pthread_mutex_unlock(&store->lock);
    if (change) begin(change);
}

void config_store_change(struct config_store *store, const struct config_change *what, uint64_t if_match,
                         config_done *done, void *arg) {
    struct store_change *change = xcalloc(1, sizeof *change);
    change->store = store;
    change->what = *what;
    change->what.policy = what->policy ? xstrdup(what->policy) : NULL;
    change->what.body = what->body ? xstrndup(what->body, what->body_len) : NULL;
    change->if_match = if_match;
    change->done = done;
    change->arg = arg;
    change->caller = store->host.caller(store->host.arg);
    change->deadline_us = clock_mono_us() + PATIENCE_US;
    config_nonce_make(change->nonce);
    pthread_mutex_lock(&store->lock);
    STAILQ_INSERT_TAIL(&store->queue, change, next);
    pthread_mutex_unlock(&store->lock);
    ev_async_send(store->loop, &store->wake);
}
