/* The configuration of this process and how it keeps up with the one in Redis.
 *
 * What a change may be is config's; how it is made is config_store_change.c's; how workers are reached is the
 * host's. */
#include <stdlib.h>

#include "base/log.h"
#include "base/xmalloc.h"
#include "config/config_store_internal.h"

static void nobody(void *arg) {
    (void)arg;
}

void config_store_use(struct config_store *store, struct config *config, void (*acked)(void *arg),
                      void *arg) {
    pthread_mutex_lock(&store->lock);
    struct config *old = store->current;
    store->current = config;
    pthread_mutex_unlock(&store->lock);
    config_unref(old);
    store->host.publish(store->host.arg, config, acked ? acked : nobody, arg);
}

/* --- following --- */

static struct config *read_document(struct config_store *store, const struct config_seen *seen,
                                    struct config_refusal *why) {
    bool deleted = seen->document_len == 0;
    const char *text = deleted ? store->first->json : seen->document;
    size_t len = deleted ? store->first->json_len : seen->document_len;
    return config_parse(text, len, seen->identity.version, why);
}

static void refuse_document(struct config_store *store, const struct config_refusal *why) {
    store->refused = true;
    store->refusal = *why;
    log_warn("configuration version %llu in Redis (%s) cannot be used by this version of ratelimitd: %s%s%s; "
             "what was "
             "in use stays in use",
             (unsigned long long)store->known.version, config_redis_key(store->redis), why->member,
             *why->member ? ": " : "", why->err.text);
}

static void tell_adopted(const struct config_store *store, bool deleted, bool first) {
    unsigned long long version = (unsigned long long)store->ours.version;
    const char *key = config_redis_key(store->redis);
    if (deleted)
        log_info("configuration version %llu: the document in Redis (%s) was deleted, the settings of the "
                 "start are in "
                 "use",
                 version, key);
    else if (first)
        log_info("configuration version %llu from Redis (%s) is in use; it overrides %s until DELETE "
                 "/admin/config",
                 version, key, store->first_source);
    else
        log_info("configuration version %llu from Redis (%s) is in use", version, key);
}

static void adopt(struct config_store *store, const struct config_seen *seen) {
    struct config_refusal why = {.err = ERR_INIT};
    bool was_start = store->ours.nonce[0] == '\0' || store->deleted;
    struct config *config = read_document(store, seen, &why);
    store->known = seen->identity;
    if (!config) {
        refuse_document(store, &why);
        return;
    }
    store->ours = seen->identity;
    store->deleted = seen->document_len == 0;
    store->refused = false;
    tell_adopted(store, store->deleted, was_start);
    config_store_use(store, config, NULL, NULL);
}

static void on_restored(void *arg, enum config_answer answer, const struct config_seen *seen,
                        const char *why) {
    struct config_store *store = arg;
    (void)why; /* tried again at the next look */
    store->restoring = false;
    if (answer == CONFIG_WRITTEN) {
        store->known = store->ours;
        log_warn("configuration version %llu was written back to Redis (%s), which had lost it",
                 (unsigned long long)store->ours.version, config_redis_key(store->redis));
    } else if (answer == CONFIG_SEEN) {
        config_store_follow(store, seen);
    }
}

/* Redis has lost the document: it gets the last good one back, unless somebody was faster. */
static void restore(struct config_store *store) {
    struct config_identity nothing = {0};
    const struct config *current = store->current;
    if (store->restoring) return;
    store->restoring = true;
    config_redis_write(store->redis, &nothing, &store->ours, store->deleted ? "" : current->json,
                       store->deleted ? 0 : current->json_len, on_restored, store);
}

static void follow_nothing(struct config_store *store, const struct config_seen *seen) {
    store->known = seen->identity;
    store->refused = false;
    if (seen->damaged && !store->damage_told)
        log_warn("the configuration in Redis (%s) is damaged: version, nonce or document is missing or makes "
                 "no sense; "
                 "%s in use",
                 config_redis_key(store->redis),
                 store->ours.nonce[0] ? "the last good one stays" : "the settings of the start are");
    store->damage_told = seen->damaged;
    if (store->ours.nonce[0]) restore(store);
}

void config_store_follow(struct config_store *store, const struct config_seen *seen) {
    if (store->file) return;
    if (seen->identity.nonce[0] == '\0') {
        follow_nothing(store, seen);
        return;
    }
    store->damage_told = false;
    if (config_identity_same(&seen->identity, &store->ours)) {
        store->known = store->ours;
        store->refused = false;
    } else if (seen->document && !(store->refused && config_identity_same(&seen->identity, &store->known))) {
        adopt(store, seen);
    }
}

/* --- looking --- */

static void on_settled(void *arg) {
    struct config_store *store = arg;
    store->settled(store->settled_arg);
}

/* The workers have been given what there is to use; this comes behind it. */
static void settle(struct config_store *store) {
    if (store->is_settled) return;
    store->is_settled = true;
    store->host.publish(store->host.arg, store->current, on_settled, store);
}

static void look(void *arg);

static void on_looked(void *arg, enum config_answer answer, const struct config_seen *seen, const char *why) {
    struct config_store *store = arg;
    bool again = store->look_again;
    (void)why;
    store->looking = store->look_again = false;
    if (answer == CONFIG_SEEN) config_store_follow(store, seen);
    settle(store);
    if (again && answer == CONFIG_SEEN) look(store);
}

static void look(void *arg) {
    struct config_store *store = arg;
    config_store_resume_change(store);
    if (store->looking) {
        store->look_again = true;
        return;
    }
    store->looking = true;
    config_redis_read(store->redis, &store->known, on_looked, store);
}

static void away(void *arg) {
    settle(arg);
}

static void counted(void *arg, unsigned instances) {
    const struct config_store *store = arg;
    if (store->host.counted) store->host.counted(store->host.arg, instances);
}

/* --- from other threads --- */

static void on_wake(struct ev_loop *loop, ev_async *watcher, int events) {
    struct config_store *store = watcher->data;
    (void)loop, (void)events;
    pthread_mutex_lock(&store->lock);
    unsigned forgets = store->forgets_due;
    store->forgets_due = 0;
    pthread_mutex_unlock(&store->lock);
    if (forgets > 0) config_redis_forget(store->redis);
    config_store_next_change(store);
}

struct config *config_store_current(struct config_store *store) {
    pthread_mutex_lock(&store->lock);
    struct config *config = config_ref(store->current);
    pthread_mutex_unlock(&store->lock);
    return config;
}

void config_store_forget(struct config_store *store) {
    pthread_mutex_lock(&store->lock);
    store->forgets_due++;
    pthread_mutex_unlock(&store->lock);
    ev_async_send(store->loop, &store->wake);
}

uint64_t config_store_forgets(const struct config_store *store) {
    return config_redis_forgets(store->redis);
}

int64_t config_store_looked_us(const struct config_store *store) {
    return config_redis_read_us(store->redis);
}

unsigned config_store_instances(const struct config_store *store) {
    return config_redis_instances(store->redis);
}

/* --- life --- */

void config_store_replace_first(struct config_store *store, struct config *first) {
    config_unref(store->first);
    store->first = config_ref(first);
    store->ours.version = first->version;
    config_store_use(store, config_ref(first), NULL, NULL);
}

struct config_store *config_store_new(const struct config_store_settings *settings) {
    static const struct config_redis_events events = {.look = look, .away = away, .counted = counted};
    const struct config_redis_settings place = {.loop = settings->loop,
                                                .redis = settings->redis,
                                                .key_prefix = settings->key_prefix,
                                                .follows = settings->file == NULL};
    struct config_store *store = xcalloc(1, sizeof *store);
    pthread_mutex_init(&store->lock, NULL);
    STAILQ_INIT(&store->queue);
    store->loop = settings->loop;
    store->host = settings->host;
    store->first_source = settings->first_source;
    store->file = settings->file;
    store->settled = settings->settled;
    store->settled_arg = settings->settled_arg;
    store->current = config_ref(settings->first);
    store->first = config_ref(settings->first);
    store->ours.version = settings->first->version;
    ev_async_init(&store->wake, on_wake);
    ev_init(&store->patience, config_store_on_patience);
    store->wake.data = store->patience.data = store;
    ev_async_start(store->loop, &store->wake);
    store->redis = config_redis_new(&place, &events, store);
    return store;
}

void config_store_free(struct config_store *store) {
    struct store_change *change;
    if (!store) return;
    store->is_settled = store->stopping = true;
    config_redis_free(store->redis); /* answers `busy`, which has nobody to tell any more */
    ev_async_stop(store->loop, &store->wake);
    ev_timer_stop(store->loop, &store->patience);
    if (store->busy) config_store_drop_change(store->busy);
    while ((change = STAILQ_FIRST(&store->queue))) {
        STAILQ_REMOVE_HEAD(&store->queue, next);
        config_store_drop_change(change);
    }
    config_unref(store->current);
    config_unref(store->first);
    pthread_mutex_destroy(&store->lock);
    free(store);
}
