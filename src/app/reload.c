/* What SIGHUP does. Knows what the files are, not how they are read or who uses them. */
#include "app/reload.h"

#include <string.h>

#include "app/document.h"
#include "base/log.h"
#include "http/tls.h"

static void read_pair(const char *cert_file, const char *key_file) {
    struct err err = ERR_INIT;

    if (tls_load(cert_file, key_file, &err) == 0)
        log_info("SIGHUP: certificate and key read again");
    else
        log_error("SIGHUP: certificate and key stay as they were: %s", err.text);
}

static void read_document(const char *path, struct config_store *store) {
    struct err err = ERR_INIT;
    struct config *old = config_store_current(store);
    struct config *next = document_load(path, old->version + 1, &err);

    if (!next) {
        log_error("SIGHUP: %s: %s; the settings stay as they are", path, err.text);
    } else if (strcmp(next->json, old->json) == 0) {
        log_info("SIGHUP: %s says what is in use already", path);
    } else {
        config_store_replace_first(store, next);
        log_info("SIGHUP: configuration version %llu from %s is in use", (unsigned long long)next->version,
                 path);
    }
    config_unref(next);
    config_unref(old);
}

void reload(const struct options *options, struct config_store *store) {
    if (options->config_path) read_document(options->config_path, store);
    if (options->tls_cert) read_pair(options->tls_cert, options->tls_key);
    if (!options->config_path && !options->tls_cert)
        log_info("SIGHUP: there is no file to read again (--config, --tls-cert)");
}
