/* Percent-decoding. Judges no byte that comes out of it: what may stand in a path or a password is the
 * caller's rule. */
#include "base/percent.h"

#include "base/hex.h"

const char *percent_decode(const char *text, size_t len, enum percent_plus plus, char *out, size_t *out_len) {
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '+' && plus == PERCENT_PLUS_IS_SPACE) {
            c = ' ';
        } else if (c == '%') {
            int high = len - i > 2 ? hex_value(text[i + 1]) : -1;
            int low = high >= 0 ? hex_value(text[i + 2]) : -1;
            if (low < 0) return text + i;
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[used++] = c;
    }
    *out_len = used;
    return NULL;
}
