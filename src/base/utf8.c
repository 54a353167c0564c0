/* UTF-8, one character at a time. Replaces and repairs nothing: that is the caller's decision. */
#include "base/utf8.h"

/* Lead bytes in ranges, with what the second byte may be: this is where overlong forms (C0, C1, E0 80..9F,
 * F0 80..8F), surrogates (ED A0..BF) and values above U+10FFFF (F4 90.., F5..) fall out. */
static const struct lead {
    unsigned char first, last, len, second_min, second_max;
} leads[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static const struct lead *find_lead(unsigned char byte) {
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        if (byte >= leads[i].first && byte <= leads[i].last) return &leads[i];
    }
    return NULL;
}

size_t utf8_len(const char *text, size_t len) {
    const unsigned char *bytes = (const unsigned char *)text;
    if (len == 0) return 0;
    if (bytes[0] < 0x80) return 1;
    const struct lead *lead = find_lead(bytes[0]);
    if (!lead || len < lead->len) return 0;
    if (bytes[1] < lead->second_min || bytes[1] > lead->second_max) return 0;
    for (size_t i = 2; i < lead->len; i++) {
        if (bytes[i] < 0x80 || bytes[i] > 0xbf) return 0;
    }
    return lead->len;
}

size_t utf8_put(uint32_t code, char out[UTF8_LEN_MAX]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(marks[len] | code);
    return len;
}
