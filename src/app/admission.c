/* Counts connections by address. Knows no sockets: who accepts and closes tells it. */
#include "app/admission.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/siphash.h"
#include "base/xmalloc.h"

enum { BUCKETS_MIN = 256, ALL_BITS = 128 };

struct guest {
    struct guest *next; /* of its bucket */
    struct ip ip;
    unsigned count;
};

struct admission {
    struct admission_settings settings;
    struct siphash_key key;
    pthread_mutex_t lock; /* workers tell of what has left */
    struct guest **buckets;
    size_t bucket_count; /* a power of two */
};

struct admission *admission_new(const struct admission_settings *settings) {
    struct admission *admission = xcalloc(1, sizeof *admission);

    admission->settings = *settings;
    if (getrandom(&admission->key, sizeof admission->key, 0) < 0) abort(); /* cannot be, of so few bytes */
    pthread_mutex_init(&admission->lock, NULL);
    admission->bucket_count = BUCKETS_MIN;
    while (admission->bucket_count < settings->max_connections / 2)
        admission->bucket_count *= 2;
    admission->buckets = xcalloc(admission->bucket_count, sizeof(struct guest *));
    return admission;
}

void admission_free(struct admission *admission) {
    if (!admission) return;
    for (size_t i = 0; i < admission->bucket_count; i++) {
        while (admission->buckets[i]) {
            struct guest *next = admission->buckets[i]->next;

            free(admission->buckets[i]);
            admission->buckets[i] = next;
        }
    }
    pthread_mutex_destroy(&admission->lock);
    free(admission->buckets);
    free(admission);
}

/* Where the guest of that address is, or would be. */
static struct guest **place_of(struct admission *admission, const struct ip *ip) {
    size_t bucket = siphash(&admission->key, ip, sizeof *ip) & (admission->bucket_count - 1);
    struct guest **at = &admission->buckets[bucket];

    while (*at && memcmp(&(*at)->ip, ip, sizeof *ip) != 0)
        at = &(*at)->next;
    return at;
}

/* The address as it is counted. False if it is not. */
static bool counted(const struct admission *admission, const struct sockaddr *address, struct ip *ip) {
    if (admission->settings.max_per_ip == 0 || !ip_of_socket(address, ip)) return false;
    if (ip_blocks_have(admission->settings.trusted, ip)) return false;
    ip_cut(ip, ip_is_ipv4(ip) ? ALL_BITS : admission->settings.ipv6_prefix);
    return true;
}

static bool enter_below(struct admission *admission, const struct ip *ip, unsigned max) {
    struct guest **at;
    bool result;

    pthread_mutex_lock(&admission->lock);
    at = place_of(admission, ip);
    if (!*at) {
        *at = xcalloc(1, sizeof **at);
        (*at)->ip = *ip;
    }
    result = (*at)->count < max;
    if (result) (*at)->count++;
    pthread_mutex_unlock(&admission->lock);
    return result;
}

enum admission_result admission_enter(struct admission *admission, const struct sockaddr *address,
                                      unsigned open) {
    const struct admission_settings *settings = &admission->settings;
    struct ip ip = {{0}};
    bool local = ip_of_socket(address, &ip) && ip_is_loopback(&ip);
    unsigned reserve = local ? ADMISSION_RESERVE : 0;
    bool full = open >= settings->max_connections;

    if (open >= settings->max_connections + reserve) return ADMISSION_FULL;
    if (!counted(admission, address, &ip)) return full ? ADMISSION_RESERVED : ADMISSION_YES;
    if (!full && enter_below(admission, &ip, settings->max_per_ip)) return ADMISSION_YES;
    if (reserve > 0 && enter_below(admission, &ip, settings->max_per_ip + reserve)) return ADMISSION_RESERVED;
    return full ? ADMISSION_FULL : ADMISSION_CROWD;
}

void admission_leave(struct admission *admission, const struct sockaddr *address) {
    struct ip ip;
    struct guest **at;

    if (!counted(admission, address, &ip)) return;
    pthread_mutex_lock(&admission->lock);
    at = place_of(admission, &ip);
    if (*at && --(*at)->count == 0) {
        struct guest *gone = *at;

        *at = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&admission->lock);
}
