/* The page's files, from the binary or from --static-dir.
 *
 * Names come from the fixed list made at build time, never from a URL: nothing else can be reached. */
#include "http/site.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/xmalloc.h"
#include "http/fields.h"
#include "http/respond.h"
#include "http/services.h"

enum { SHA256_BYTES = 32, ETAG_HEX_BYTES = 8, FILE_MAX = 4 * 1024 * 1024, PATH_TEXT_MAX = 4096 };

struct etag {
    char text[2 * ETAG_HEX_BYTES + 3];
};
static struct etag *etags; /* of the embedded files, in their order; written once by site_init */

static const char CSP[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

static struct etag etag_of(const void *data, size_t len) {
    unsigned char digest[SHA256_BYTES] = {0};
    struct etag etag;
    size_t at = 0;

    gnutls_hash_fast(GNUTLS_DIG_SHA256, data, len, digest);
    etag.text[at++] = '"';
    for (size_t i = 0; i < ETAG_HEX_BYTES; i++)
        at += (size_t)snprintf(etag.text + at, sizeof etag.text - at, "%02x", digest[i]);
    snprintf(etag.text + at, sizeof etag.text - at, "\"");
    return etag;
}

void site_init(void) {
    if (etags) return;
    etags = xcalloc(site_file_count + 1, sizeof *etags);
    for (size_t i = 0; i < site_file_count; i++)
        etags[i] = etag_of(site_files[i].data, site_files[i].len);
}

static const struct site_file *find(const char *path) {
    for (size_t i = 0; i < site_file_count; i++)
        if (strcmp(site_files[i].path, path) == 0) return &site_files[i];
    return NULL;
}

bool site_has(const char *path) {
    return find(path) != NULL;
}

/* The copy of a file on disk, whole. Whatever else is in the folder (a pipe, a directory) is no copy. */
static int read_copy(const char *dir, const struct site_file *file, struct buf *out, struct err *err) {
    char path[PATH_TEXT_MAX];
    const char *name = strcmp(file->path, "/") == 0 ? "/index.html" : file->path;

    if (snprintf(path, sizeof path, "%s%s", dir, name) >= (int)sizeof path)
        return err_set(err, "has too long a name");
    return file_read(path, out, err);
}

static void add_headers(struct request *request, const struct etag *etag) {
    respond_security_headers(request);
    request_reply_header(request, "Content-Security-Policy", CSP);
    request_reply_header(request, "Cross-Origin-Opener-Policy", "same-origin");
    request_reply_header(request, "Cache-Control", "no-cache");
    request_reply_header(request, "ETag", etag->text);
}

static bool is_known(const struct request *request, const struct etag *etag) {
    const char *known = request_header(request, "If-None-Match");
    enum field_match match = known ? field_tags(known, etag->text, false) : FIELD_MATCH_NO;

    return match == FIELD_MATCH_YES || match == FIELD_MATCH_ANY;
}

static void serve_copy(struct request *request, const struct site_file *file) {
    struct buf copy = BUF_INIT(FILE_MAX);
    const char *dir = request->services->static_dir;
    struct err err = ERR_INIT;

    if (read_copy(dir, file, &copy, &err) != 0) {
        log_warn("--static-dir %s: %s %s", dir, file->path, err.text);
        respond_problem(request, 404, NULL, "%s cannot be read in --static-dir.", file->path);
    } else {
        struct etag etag = etag_of(buf_str(&copy), copy.len);
        add_headers(request, &etag);
        if (is_known(request, &etag))
            request_send(request, 304, NULL, NULL);
        else
            request_send(request, 200, file->type, &copy);
    }
    buf_free(&copy);
}

static void serve_embedded(struct request *request, const struct site_file *file) {
    const struct etag *etag = &etags[file - site_files];

    add_headers(request, etag);
    if (is_known(request, etag))
        request_send(request, 304, NULL, NULL);
    else
        request_send_static(request, 200, file->type, file->data, file->len);
}

void site_handle(struct request *request) {
    const struct site_file *file = find(request->uri.path);

    if (!file)
        respond_problem(request, 404, NULL, "There is nothing at %s.", request->uri.path);
    else if (request->services->static_dir)
        serve_copy(request, file);
    else
        serve_embedded(request, file);
}
