/* The configuration of this process: one change at a time, in force on all workers before it is answered.
 *
 * What a change may be is config's; how workers are reached is the publisher's. */
#include "config/config_store.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/xmalloc.h"

struct config_store {
    pthread_mutex_t
        lock; /* recursive: a publisher may acknowledge, and `done` may ask or change, before it returns */
    struct config *current;
    struct config *first; /* the settings of the start */
    config_publish *publish;
    void *publisher;
};

/* A change that waits for its workers. */
struct pending {
    struct config *config;
    bool created;
    config_done *done;
    void *arg;
};

struct config_store *config_store_new(struct config *first, config_publish *publish, void *publisher) {
    struct config_store *store = xcalloc(1, sizeof *store);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&store->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    store->current = config_ref(first);
    store->first = config_ref(first);
    store->publish = publish;
    store->publisher = publisher;
    return store;
}

void config_store_free(struct config_store *store) {
    if (!store) return;
    config_unref(store->current);
    config_unref(store->first);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

struct config *config_store_current(struct config_store *store) {
    pthread_mutex_lock(&store->lock);
    struct config *config = config_ref(store->current);
    pthread_mutex_unlock(&store->lock);
    return config;
}

static void on_acked(void *arg) {
    struct pending *pending = arg;
    pending->done(pending->arg, pending->config, pending->created, NULL);
    config_unref(pending->config);
    free(pending);
}

/* The next snapshot (the current one if nothing changes), with a reference. Under the lock. */
static struct config *apply(struct config_store *store, const struct config_change *change, uint64_t if_match,
                            bool *created, struct config_refusal *why) {
    if (if_match != CONFIG_ANY_VERSION && if_match != store->current->version) {
        why->status = 412;
        err_set(&why->err, "somebody else changed the settings: now version %llu, not %llu",
                (unsigned long long)store->current->version, (unsigned long long)if_match);
        return NULL;
    }
    struct config_change back = {CONFIG_PUT, NULL, store->first->json, store->first->json_len};
    bool is_reset = change->verb == CONFIG_DELETE && !change->policy;
    return config_apply(store->current, is_reset ? &back : change, created, why);
}

/* Puts `next` into force. Under the lock still, so that workers are told of versions in their order. */
static void publish(struct config_store *store, struct config *next, bool created, config_done *done,
                    void *arg) {
    struct pending *pending = xmalloc(sizeof *pending);
    *pending = (struct pending){next, created, done, arg};
    config_unref(store->current);
    store->current = config_ref(next);
    store->publish(store->publisher, next, on_acked, pending);
}

void config_store_change(struct config_store *store, const struct config_change *change, uint64_t if_match,
                         config_done *done, void *arg) {
    struct config_refusal why = {.err = ERR_INIT};
    bool created = false;
    pthread_mutex_lock(&store->lock);
    struct config *next = apply(store, change, if_match, &created, &why);
    bool changes = next && next != store->current;
    if (changes) publish(store, next, created, done, arg);
    pthread_mutex_unlock(&store->lock);
    if (changes) return; /* `next` is the pending change's */
    done(arg, next, false, next ? NULL : &why);
    config_unref(next);
}
