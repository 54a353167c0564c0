/* Percent-decoding (RFC 3986), once and strictly. Pure, any thread. */
#ifndef RL_BASE_PERCENT_H
#define RL_BASE_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

enum percent_plus { PERCENT_PLUS_PLAIN, PERCENT_PLUS_IS_SPACE };

/* Decodes `len` bytes into `out` (room for `len`; may be `text` itself) and sets `*out_len`. Returns NULL, or
 * the '%' that two hexadecimal digits do not follow. No NUL is added; decoded bytes may be any, NUL included.
 */
const char *percent_decode(const char *text, size_t len, enum percent_plus plus, char *out, size_t *out_len);

#endif
