/* Writing JSON into a buf. Does not check that names are unique or that levels are closed: callers are code.
 */
#include "base/json_out.h"

#include <assert.h>
#include <string.h>

#include "base/decimal.h"
#include "base/utf8.h"

void json_begin(struct json_out *json, struct buf *buf) {
    json->buf = buf;
    json->depth = 0;
}

/* Written as they are: ASCII but for what ends a string, escapes, opens a tag or steers. */
static const bool plain[256] = {
    [' ' ... '!'] = true, ['#' ... ';'] = true, ['=' ... '['] = true, [']' ... '~'] = true};

static size_t plain_len(const char *text, size_t len) {
    size_t at = 0;
    while (at < len && plain[(unsigned char)text[at]])
        at++;
    return at;
}

/* The comma in front of all but the first. */
static bool needs_comma(struct json_out *json) {
    if (json->depth == 0) return false;
    bool *more = &json->more[json->depth - 1], before = *more;
    *more = true;
    return before;
}

/* What stands in front of a value: the comma, and the name if there is one. */
static void lead_in(struct json_out *json, const char *name) {
    bool comma = needs_comma(json);
    size_t len = name ? strlen(name) : 0;
    if (!name || plain_len(name, len) < len) {
        if (comma) buf_addc(json->buf, ',');
        if (!name) return;
        json_escape(json->buf, name, len);
        buf_addc(json->buf, ':');
        return;
    }
    char *at = buf_extend(json->buf, comma + len + 3);
    if (!at) return;
    if (comma) *at++ = ',';
    *at++ = '"';
    memcpy(at, name, len);
    memcpy(at + len, "\":", 2);
}

static void open_level(struct json_out *json, const char *name, char open, char close) {
    assert(json->depth < JSON_OUT_DEPTH);
    lead_in(json, name);
    buf_addc(json->buf, open);
    json->close[json->depth] = close;
    json->more[json->depth] = false;
    json->depth++;
}

void json_object(struct json_out *json, const char *name) {
    open_level(json, name, '{', '}');
}

void json_array(struct json_out *json, const char *name) {
    open_level(json, name, '[', ']');
}

void json_end(struct json_out *json) {
    assert(json->depth > 0);
    buf_addc(json->buf, json->close[--json->depth]);
}

void json_str(struct json_out *json, const char *name, const char *value) {
    json_strn(json, name, value, strlen(value));
}

void json_strn(struct json_out *json, const char *name, const char *value, size_t len) {
    lead_in(json, name);
    json_escape(json->buf, value, len);
}

void json_int(struct json_out *json, const char *name, int64_t value) {
    lead_in(json, name);
    buf_add_int(json->buf, value);
}

void json_bool(struct json_out *json, const char *name, bool value) {
    lead_in(json, name);
    buf_adds(json->buf, value ? "true" : "false");
}

void json_null(struct json_out *json, const char *name) {
    lead_in(json, name);
    buf_adds(json->buf, "null");
}

void json_micro(struct json_out *json, const char *name, int64_t micro) {
    char text[DECIMAL_TEXT_MAX];
    size_t len = decimal_format(micro, text);
    json_raw(json, name, text, len);
}

void json_seconds_ms(struct json_out *json, const char *name, int64_t us) {
    lead_in(json, name);
    if (us <= 0) { /* a wait that is over */
        buf_addc(json->buf, '0');
        return;
    }
    int64_t ms = us / 1000 + (us % 1000 != 0);
    buf_add_int(json->buf, ms / 1000);
    int part = (int)(ms % 1000);
    const char decimals[] = {'.', (char)('0' + part / 100), (char)('0' + part / 10 % 10),
                             (char)('0' + part % 10)};
    buf_add(json->buf, decimals, sizeof decimals);
}

void json_raw(struct json_out *json, const char *name, const char *value, size_t len) {
    lead_in(json, name);
    buf_add(json->buf, value, len);
}

static void escape_ascii(struct buf *buf, char c) {
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* the character, then its letter */
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i + 1 < sizeof letters; i += 2) {
        if (letters[i] != c) continue;
        const char pair[] = {'\\', letters[i + 1]};
        buf_add(buf, pair, sizeof pair);
        return;
    }
    const char code[] = {'\\', 'u', '0', '0', hex[(unsigned char)c >> 4], hex[(unsigned char)c & 15]};
    buf_add(buf, code, sizeof code);
}

/* A character of several bytes. U+2028 and U+2029 end lines in old scripts, U+0080..U+009F steer terminals.
 */
static void escape_wide(struct buf *buf, const char *text, size_t len) {
    static const char bad[] = "\xef\xbf\xbd"; /* U+FFFD */
    if (len == 0) {
        buf_add(buf, bad, sizeof bad - 1);
    } else if (len == 3 && memcmp(text, "\xe2\x80\xa8", 3) == 0) {
        buf_adds(buf, "\\u2028");
    } else if (len == 3 && memcmp(text, "\xe2\x80\xa9", 3) == 0) {
        buf_adds(buf, "\\u2029");
    } else if (len == 2 && text[0] == '\xc2' && (unsigned char)text[1] < 0xa0) {
        escape_ascii(buf, text[1]);
    } else {
        buf_add(buf, text, len);
    }
}

/* Nearly every text is plain throughout, and then appended in one go. */
static bool add_plain(struct buf *buf, const char *text, size_t len) {
    if (plain_len(text, len) < len) return false;
    char *at = buf_extend(buf, len + 2);
    if (!at) return true;
    at[0] = at[len + 1] = '"';
    memcpy(at + 1, text, len);
    return true;
}

void json_escape(struct buf *buf, const char *text, size_t len) {
    if (add_plain(buf, text, len)) return;
    buf_addc(buf, '"');
    size_t at = 0;
    while (at < len) {
        size_t run = plain_len(text + at, len - at);
        buf_add(buf, text + at, run);
        at += run;
        if (at == len) break;
        if ((unsigned char)text[at] < 0x80) {
            escape_ascii(buf, text[at++]);
            continue;
        }
        size_t wide = utf8_len(text + at, len - at);
        escape_wide(buf, text + at, wide);
        at += wide ? wide : 1;
    }
    buf_addc(buf, '"');
}
