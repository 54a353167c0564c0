/* UTF-8, one character at a time (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. Pure.
 */
#ifndef RL_BASE_UTF8_H
#define RL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_LEN_MAX = 4 };

/* Bytes of the valid character at the start of `text`, 1..4; 0 if there is none (or `len` is 0). */
size_t utf8_len(const char *text, size_t len);

/* Writes a code point (not a surrogate, at most U+10FFFF); returns the number of bytes. */
size_t utf8_put(uint32_t code, char out[UTF8_LEN_MAX]);

#endif
