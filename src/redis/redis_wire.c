/* RESP, the way in. Knows no command. */
#include "redis/redis_wire.h"

#include <string.h>

enum { SMALL = 256, HEAD_MAX = 24 };

static size_t head(char *at, char mark, size_t count) {
    char digits[HEAD_MAX];
    size_t len = 0, used = 0;
    do
        digits[used++] = (char)('0' + count % 10);
    while ((count /= 10) != 0);
    at[len++] = mark;
    while (used > 0)
        at[len++] = digits[--used];
    at[len++] = '\r';
    at[len++] = '\n';
    return len;
}

void redis_wire_begin(struct buf *out, int argc) {
    char text[HEAD_MAX];
    buf_add(out, text, head(text, '*', (size_t)argc));
}

static void large_word(struct buf *out, const char *data, size_t len) {
    char text[HEAD_MAX];
    buf_add(out, text, head(text, '$', len));
    buf_add(out, data, len);
    buf_add(out, "\r\n", 2);
}

/* Small words, which are nearly all, are put together here and appended in one go. */
void redis_wire_word(struct buf *out, const char *data, size_t len) {
    char text[HEAD_MAX + SMALL + 2];
    if (len > SMALL) {
        large_word(out, data, len);
        return;
    }
    size_t used = head(text, '$', len);
    if (len > 0) memcpy(text + used, data, len);
    memcpy(text + used + len, "\r\n", 2);
    buf_add(out, text, used + len + 2);
}

void redis_wire_text(struct buf *out, const char *text) {
    redis_wire_word(out, text, strlen(text));
}

void redis_wire_secret(struct buf *out, const char *text) {
    large_word(out, text, strlen(text));
}
