/* A growing byte buffer that is born with a maximum.
 *
 * A piece that would pass the maximum is dropped whole, `overflow` is set and nothing is added from then on,
 * so that what is there stays a beginning of what was meant; the caller looks once, at the end. Content is
 * always NUL-terminated behind `len`. Not thread-safe: one owner. */
#ifndef RL_BASE_BUF_H
#define RL_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data; /* owned; NULL until the first byte */
    size_t len; /* bytes of content, without the NUL */
    size_t cap;
    size_t max; /* content never grows beyond this */
    bool overflow;
};

#define BUF_INIT(maximum)                                                                                    \
    { .max = (maximum) }

void buf_free(struct buf *buf);  /* back to an empty buffer, maximum kept */
void buf_clear(struct buf *buf); /* empties, keeps the memory */
void buf_add(struct buf *buf, const void *data, size_t len);
char *buf_extend(struct buf *buf,
                 size_t len);                 /* `len` bytes more, for the caller to fill; NULL on overflow */
void buf_expect(struct buf *buf, size_t len); /* before the first byte: about so many will come */
void buf_adds(struct buf *buf, const char *text);
void buf_addc(struct buf *buf, char c);
void buf_addf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_add_int(struct buf *buf, int64_t value); /* decimal, faster than buf_addf */

/* Hands the bytes to the caller, who frees them with free(); the buffer is empty afterwards. Never NULL. */
char *buf_take(struct buf *buf);

/* The content as a C string; "" when empty. Valid until the next change. */
const char *buf_str(const struct buf *buf);

#endif
