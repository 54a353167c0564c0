/* The pair of HTTPS. Knows no HTTP and no connections: microhttpd asks for the pair at each handshake. */
#include "http/tls.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/xmalloc.h"

enum { CHAIN_MAX = 16, KEY_ID_MAX = 64, PEM_MAX = 1024 * 1024 /* bytes of a file */ };
static const int64_t RETIRED_US = INT64_C(120) * 1000000; /* no handshake takes that long */

struct pair {
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned chain_len;
    gnutls_privkey_t key;
    struct pair *older;
    int64_t retired; /* when another took its place */
};

static _Atomic(struct pair *) current;

static void pair_free(struct pair *pair) {
    for (unsigned i = 0; i < pair->chain_len; i++)
        gnutls_pcert_deinit(&pair->chain[i]);
    if (pair->key) gnutls_privkey_deinit(pair->key);
    free(pair);
}

static int fail(struct err *err, const char *option, const char *file, const char *why) {
    return err_set(err, "%s %s: %s", option, file, why);
}

static void wipe(struct buf *text) {
    if (text->data) gnutls_memset(text->data, 0, text->len);
    buf_free(text);
}

/* Not by gnutls, which waits for whoever writes into a pipe. */
static int read_text(struct buf *text, const char *option, const char *file, struct err *err) {
    struct err why = ERR_INIT;

    if (file_read(file, text, &why) == 0) return 0;
    wipe(text);
    return fail(err, option, file, why.text);
}

static gnutls_datum_t datum(const struct buf *text) {
    return (gnutls_datum_t){(unsigned char *)text->data, (unsigned)text->len};
}

static int read_chain(struct pair *pair, const char *file, struct err *err) {
    struct buf text = BUF_INIT(PEM_MAX);
    unsigned count = CHAIN_MAX;
    int code;

    if (read_text(&text, "--tls-cert", file, err) != 0) return -1;
    gnutls_datum_t data = datum(&text);
    code = gnutls_pcert_list_import_x509_raw(pair->chain, &count, &data, GNUTLS_X509_FMT_PEM, 0);
    buf_free(&text);
    if (code < 0)
        return fail(err, "--tls-cert", file, "there is no certificate in it that can be read (PEM)");
    pair->chain_len = count;
    return 0;
}

static int read_key(struct pair *pair, const char *file, struct err *err) {
    struct buf text = BUF_INIT(PEM_MAX);
    int code;

    if (read_text(&text, "--tls-key", file, err) != 0) return -1;
    gnutls_datum_t data = datum(&text);
    code = gnutls_privkey_init(&pair->key);
    if (code >= 0) code = gnutls_privkey_import_x509_raw(pair->key, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
    wipe(&text);
    return code >= 0 ? 0 : fail(err, "--tls-key", file, "there is no key without a password in it (PEM)");
}

static bool belong_together(const struct pair *pair) {
    unsigned char of_chain[KEY_ID_MAX], of_key[KEY_ID_MAX];
    size_t chain_len = sizeof of_chain, key_len = sizeof of_key;
    gnutls_pubkey_t public;
    bool result = false;

    if (gnutls_pubkey_init(&public) < 0) return false;
    if (gnutls_pubkey_import_privkey(public, pair->key, 0, 0) >= 0 &&
        gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, of_key, &key_len) >= 0 &&
        gnutls_pubkey_get_key_id(pair->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_chain, &chain_len) >= 0)
        result = key_len == chain_len && memcmp(of_key, of_chain, key_len) == 0;
    gnutls_pubkey_deinit(public);
    return result;
}

static void warn_of_dates(const struct pair *pair, const char *file) {
    gnutls_x509_crt_t certificate;
    time_t now = time(NULL);

    if (gnutls_x509_crt_init(&certificate) < 0) return;
    if (gnutls_x509_crt_import(certificate, &pair->chain[0].cert, GNUTLS_X509_FMT_DER) >= 0) {
        if (gnutls_x509_crt_get_expiration_time(certificate) < now)
            log_warn("the certificate in %s has expired", file);
        if (gnutls_x509_crt_get_activation_time(certificate) > now)
            log_warn("the certificate in %s is not valid yet", file);
    }
    gnutls_x509_crt_deinit(certificate);
}

/* A handshake may still use the pair before this one, so that it is kept a while. */
static void take_into_use(struct pair *pair) {
    int64_t now = clock_mono_us();
    struct pair **at;

    pair->older = atomic_load(&current);
    if (pair->older) pair->older->retired = now;
    atomic_store(&current, pair);
    for (at = &pair->older; *at && now - (*at)->retired < RETIRED_US;)
        at = &(*at)->older;
    while (*at) {
        struct pair *old = *at;

        *at = old->older;
        pair_free(old);
    }
}

int tls_load(const char *cert_file, const char *key_file, struct err *err) {
    struct pair *pair = xcalloc(1, sizeof *pair);

    if (read_chain(pair, cert_file, err) != 0 || read_key(pair, key_file, err) != 0) goto fail;
    if (!belong_together(pair)) {
        err_set(err, "--tls-key %s is not the key of the certificate in --tls-cert %s", key_file, cert_file);
        goto fail;
    }
    warn_of_dates(pair, cert_file);
    take_into_use(pair);
    return 0;
fail:
    pair_free(pair);
    return -1;
}

void tls_free(void) {
    struct pair *pair = atomic_exchange(&current, NULL);

    while (pair) {
        struct pair *older = pair->older;

        pair_free(pair);
        pair = older;
    }
}

int tls_certificate(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                    const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                    unsigned *chain_len, gnutls_privkey_t *key) {
    struct pair *pair = atomic_load(&current);

    (void)session, (void)authorities, (void)authority_count, (void)algorithms, (void)algorithm_count;
    *chain = pair->chain;
    *chain_len = pair->chain_len;
    *key = pair->key;
    return 0;
}
