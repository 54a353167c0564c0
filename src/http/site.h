/* The page and its files: embedded in the binary from a fixed list, or read from --static-dir while
 * developing. */
#ifndef RL_HTTP_SITE_H
#define RL_HTTP_SITE_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http.h"

struct site_file {    /* table generated at build time from static/ */
    const char *path; /* "/", "/app.css" */
    const char *type;
    const unsigned char *data;
    size_t len;
};
extern const struct site_file site_files[];
extern const size_t site_file_count;

/* Computes the ETags. Call once before threads start. */
void site_init(void);

/* Is there a file of that canonical path? */
bool site_has(const char *path);

/* Answers with the file of that path, 304 for a matching If-None-Match, with the page's security headers; 404
 * problem if there is none. */
void site_handle(struct request *request);

#endif
