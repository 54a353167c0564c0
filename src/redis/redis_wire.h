/* Writing commands in Redis's protocol (RESP arrays of bulk strings). Sends nothing. Private to redis/. */
#ifndef RL_REDIS_REDIS_WIRE_H
#define RL_REDIS_REDIS_WIRE_H

#include <stddef.h>

#include "base/buf.h"

/* The head of a command of `argc` words, then each word. */
void redis_wire_begin(struct buf *out, int argc);
void redis_wire_word(struct buf *out, const char *data, size_t len);
void redis_wire_text(struct buf *out, const char *text);
/* The same, leaving no copy but that in `out`. */
void redis_wire_secret(struct buf *out, const char *text);

#endif
