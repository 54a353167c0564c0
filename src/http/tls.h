/* The certificate and key of HTTPS, one pair for the process, which can be replaced while it serves. */
#ifndef RL_HTTP_TLS_H
#define RL_HTTP_TLS_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "base/err.h"

/* Reads both files (PEM; the certificate first, then its chain) and sees that they belong together. From then
 * on handshakes use them. -1 with words that name the file and what is wrong; a pair that was in use stays in
 * use. The main thread. */
int tls_load(const char *cert_file, const char *key_file, struct err *err);
void tls_free(void);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK. Any thread. */
int tls_certificate(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                    const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                    unsigned *chain_len, gnutls_privkey_t *key);

#endif
