/* A policies document in a file: what --config and --seed-config name. It is read and judged, not used. */
#ifndef RL_APP_DOCUMENT_H
#define RL_APP_DOCUMENT_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"

enum { DOCUMENT_MAX = 1024 * 1024 }; /* bytes, as of a request that puts one */

/* The file's text if it is a valid document; free() it. NULL with words that say where it is wrong. */
char *document_read(const char *path, struct err *err);

/* The same as a snapshot. */
struct config *document_load(const char *path, uint64_t version, struct err *err);

#endif
