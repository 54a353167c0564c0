/* What microhttpd refuses by itself (lengths, chunks, versions, heads beyond its memory), answered in our
 * words and once. Does not judge requests: http_head.c and http_request.c refuse the rest. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/cors.h"
#include "http/http_head.h"
#include "http/http_internal.h"
#include "http/http_raw.h"

typedef enum MHD_Result queue_fn(struct MHD_Connection *, unsigned, struct MHD_Response *);

static queue_fn *queue_in_library;

/* Before main(), as all threads need it. */
__attribute__((constructor)) static void find_library(void) {
    *(void **)&queue_in_library = dlsym(RTLD_NEXT, "MHD_queue_response");
    if (!queue_in_library) abort(); /* it is linked */
}

enum MHD_Result http_queue(struct http_request *r, struct MHD_Response *response) {
    return queue_in_library(r->connection, r->status, response);
}

const struct http_fault http_long_target = {414,
                                            "The target is too long: with all header fields it may have 7 "
                                            "KiB, less 64 bytes a field; Cookie counts twice."};
const struct http_fault http_long_head = {431,
                                          "The head is too long: target and header fields may have 7 KiB, "
                                          "less 64 bytes a field; Cookie counts twice."};
const struct http_fault http_long_trailer = {431,
                                             "The body's trailer is too long: with the head it may have 7 "
                                             "KiB, less 64 bytes a field."};
static const struct http_fault bad_length = {400, "Content-Length is not a number with no space behind it."};
static const struct http_fault bad_line = {400, "The first line is not METHOD, one space, target, one space, "
                                                "version (HTTP/1.0 or HTTP/1.1), CR LF."};
static const struct http_fault bad_field = {400,
                                            "A header field is not NAME: VALUE on one line, without space "
                                            "before the colon."};
static const struct http_fault bad_version = {505, "HTTP/1.1 and HTTP/1.0 are spoken here."};
static const struct http_fault bad_chunks = {400, "The body's chunks cannot be read."};
static const struct http_fault large = {413, "The body is larger than any address takes."};

static bool find_bad_length(void *found, const char *name, const char *value) {
    if (strcasecmp(name, "Content-Length") == 0 && (!*value || value[strspn(value, "0123456789")]))
        *(bool *)found = true;
    return !*(bool *)found;
}

/* The version lies where the target's end and one space leave it; a NUL is where the line had its end. */
static bool line_is_good(const struct http_request *r) {
    const char *version = r->target + r->target_len + 1;

    return strcmp(version, "HTTP/1.1") == 0 || strcmp(version, "HTTP/1.0") == 0;
}

/* What microhttpd cannot read of a head: it looks at the first line, at the fields one by one, then at what
 * they say. */
static const struct http_fault *fault_of_head(const struct http_request *r) {
    bool found = false;

    if (!r || !line_is_good(r)) return &bad_line;
    request_each_header(&r->pub, find_bad_length, &found);
    return found ? &bad_length : &bad_field;
}

/* Where it was in the request tells what it minds. */
static const struct http_fault *fault_of(struct http_connection *c, unsigned status) {
    const struct http_request *r = c->request;
    bool in_head = !r || r->phase == PHASE_NEW;

    if (status == 505) return &bad_version;
    if (status == 413) return &large;
    if (status == 414) return &http_long_target;
    if (status == 431) return in_head ? &http_long_head : &http_long_trailer;
    if (status != 400) return NULL;
    return in_head ? fault_of_head(r) : &bad_chunks;
}

/* In the place of the library's function, which is called only by the library itself: we call it by its
 * address. That is the one moment at which a refusal of its own can be seen and its connection is known. Sent
 * its own way, it would be HTML without our header fields, and those for lengths and cookies would have their
 * head twice. MHD_NO makes it hang up. (A library linked so that it does not see this answers as it did.) */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response) {
    struct http_connection *c =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    const struct http_fault *fault = fault_of(c, status);

    (void)response; /* stays the library's */
    if (c->refused) return MHD_NO;
    if (c->request && c->request->phase == PHASE_NEW) {
        c->request->pub.services = c->http->services;
        cors_headers(&c->request->pub);
    }
    if (fault)
        http_raw_problem(c, fault->status, fault->detail);
    else
        http_raw_problem(c, status, "This request cannot be read.");
    return MHD_NO;
}
