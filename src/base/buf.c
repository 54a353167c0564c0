/* A growing byte buffer with a maximum. Knows nothing of what is put into it. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/xmalloc.h"

enum { FIRST_CAPACITY = 64 };

/* Makes room for `extra` more bytes and the NUL. False, and overflow, if the maximum forbids it. */
static bool reserve(struct buf *buf, size_t extra) {
    if (buf->overflow || extra > buf->max - buf->len) {
        buf->overflow = true;
        return false;
    }
    size_t need = buf->len + extra + 1;
    if (need == 0) { /* a maximum of SIZE_MAX leaves no place for the NUL */
        buf->overflow = true;
        return false;
    }
    if (need <= buf->cap) return true;
    size_t cap = buf->cap < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : buf->cap * 2;
    if (cap > buf->max) cap = buf->max + 1;
    if (cap < need) cap = need;
    buf->data = xrealloc(buf->data, cap);
    buf->cap = cap;
    return true;
}

void buf_free(struct buf *buf) {
    free(buf->data);
    *buf = (struct buf)BUF_INIT(buf->max);
}

void buf_clear(struct buf *buf) {
    buf->len = 0;
    buf->overflow = false;
    if (buf->data) buf->data[0] = '\0';
}

void buf_expect(struct buf *buf, size_t len) {
    size_t cap = len < buf->max ? len + 1 : buf->max;
    if (buf->data || cap == 0) return;
    buf->data = xmalloc(cap);
    buf->data[0] = '\0';
    buf->cap = cap;
}

char *buf_extend(struct buf *buf, size_t len) {
    if (!reserve(buf, len)) return NULL;
    char *at = buf->data + buf->len;
    buf->len += len;
    buf->data[buf->len] = '\0';
    return at;
}

void buf_add(struct buf *buf, const void *data, size_t len) {
    char *at = len > 0 ? buf_extend(buf, len) : NULL;
    if (at) memcpy(at, data, len);
}

void buf_adds(struct buf *buf, const char *text) {
    buf_add(buf, text, strlen(text));
}

void buf_addc(struct buf *buf, char c) {
    char *at = buf_extend(buf, 1);
    if (at) *at = c;
}

void buf_addf(struct buf *buf, const char *fmt, ...) {
    char small[256];
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(small, sizeof small, fmt, args);
    if (len < 0) {
        buf->overflow = true;
    } else if ((size_t)len < sizeof small) {
        buf_add(buf, small, (size_t)len);
    } else if (reserve(buf, (size_t)len)) {
        vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
}

void buf_add_int(struct buf *buf, int64_t value) {
    char text[DECIMAL_TEXT_MAX];
    buf_add(buf, text, decimal_whole(value, text));
}

char *buf_take(struct buf *buf) {
    char *data = buf->data ? buf->data : xstrdup("");
    *buf = (struct buf)BUF_INIT(buf->max);
    return data;
}

const char *buf_str(const struct buf *buf) {
    return buf->data ? buf->data : "";
}
