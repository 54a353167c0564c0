/* RFC 8259, to the letter and unambiguous: grammar, UTF-8, depth and repeated names, with the place of the
 * fault. Builds no tree and judges no meaning: that is cJSON's and the configuration's part.
 *
 * Names of an object are kept until it closes and then sorted, so that a hostile document costs n log n. */
#include "config/json_check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "base/xmalloc.h"

enum { NAME_SHOWN_MAX = 64 };

struct name {
    size_t at;          /* of its opening quote in the document */
    size_t offset, len; /* of its unescaped text in `unescaped` */
};

struct checker {
    const char *text;
    size_t len, at;
    int depth;
    struct name *names; /* of all objects that are open, innermost last */
    size_t name_count, name_cap;
    struct buf unescaped; /* their texts, in the same order */
    struct err *err;
};

static int check_value(struct checker *c);

static int fail_at(struct checker *c, size_t at, const char *words) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        if (c->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)c->text[i] & 0xc0) != 0x80) { /* columns are characters, not bytes */
            column++;
        }
    }
    return err_set(c->err, "%s at line %zu, column %zu (byte offset %zu)", words, line, column, at);
}

static int fail_expected(struct checker *c, const char *expected) {
    char words[160];
    unsigned char byte = c->at < c->len ? (unsigned char)c->text[c->at] : 0;
    if (c->at >= c->len) {
        snprintf(words, sizeof words, "expected %s, found the end of the text", expected);
    } else if (byte > ' ' && byte < 0x7f) {
        snprintf(words, sizeof words, "expected %s, found '%c'", expected, byte);
    } else {
        snprintf(words, sizeof words, "expected %s, found byte 0x%02x", expected, byte);
    }
    return fail_at(c, c->at, words);
}

static void skip_space(struct checker *c) {
    while (c->at < c->len && memchr(" \t\n\r", c->text[c->at], 4))
        c->at++;
}

static bool take(struct checker *c, char wanted) {
    if (c->at == c->len || c->text[c->at] != wanted) return false;
    c->at++;
    return true;
}

/* The four digits behind "\u" at `at`; -1 if they are not there. */
static int32_t hex4(const struct checker *c, size_t at) {
    if (c->len - at < 4) return -1;
    int32_t code = 0;
    for (size_t i = at; i < at + 4; i++) {
        int digit = hex_value(c->text[i]);
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* Behind "\u". A pair of surrogates is one character. */
static int check_unicode(struct checker *c, struct buf *out) {
    size_t start = c->at - 2;
    int32_t code = hex4(c, c->at);
    if (code < 0) return fail_at(c, start, "\\u wants four hexadecimal digits");
    if (code == 0) return fail_at(c, start, "\\u0000 is not allowed");
    c->at += 4;
    if (code >= 0xd800 && code <= 0xdfff) {
        bool pair =
            code < 0xdc00 && c->len - c->at >= 6 && c->text[c->at] == '\\' && c->text[c->at + 1] == 'u';
        int32_t low = pair ? hex4(c, c->at + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff) return fail_at(c, start, "half of a surrogate pair");
        c->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    char bytes[UTF8_LEN_MAX];
    size_t len = utf8_put((uint32_t)code, bytes);
    if (out) buf_add(out, bytes, len);
    return 0;
}

/* Behind the backslash. */
static int check_escape(struct checker *c, struct buf *out) {
    static const char letters[] = "\"\"\\\\//b\bf\fn\nr\rt\t"; /* the letter, then what it stands for */
    if (take(c, 'u')) return check_unicode(c, out);
    for (size_t i = 0; i + 1 < sizeof letters; i += 2) {
        if (!take(c, letters[i])) continue;
        if (out) buf_addc(out, letters[i + 1]);
        return 0;
    }
    return fail_expected(c, "one of \" \\ / b f n r t u behind a backslash");
}

/* At the opening quote. The unescaped text is added to `out` unless that is NULL. */
static int check_string(struct checker *c, struct buf *out) {
    c->at++;
    while (!take(c, '"')) {
        if (c->at == c->len) return fail_expected(c, "the closing quote of a string");
        if (take(c, '\\')) {
            if (check_escape(c, out)) return -1;
            continue;
        }
        if ((unsigned char)c->text[c->at] < ' ')
            return fail_at(c, c->at, "a control character must be escaped in a string");
        size_t len = utf8_len(c->text + c->at, c->len - c->at);
        if (len == 0) return fail_at(c, c->at, "invalid UTF-8");
        if (out) buf_add(out, c->text + c->at, len);
        c->at += len;
    }
    return 0;
}

static bool take_digits(struct checker *c) {
    size_t start = c->at;
    while (c->at < c->len && c->text[c->at] >= '0' && c->text[c->at] <= '9')
        c->at++;
    return c->at > start;
}

static int check_number(struct checker *c) {
    take(c, '-');
    size_t start = c->at;
    if (!take_digits(c)) return fail_expected(c, "a digit");
    if (c->text[start] == '0' && c->at > start + 1)
        return fail_at(c, start, "a number must not begin with a zero");
    if (take(c, '.') && !take_digits(c)) return fail_expected(c, "a digit behind the decimal point");
    if (take(c, 'e') || take(c, 'E')) {
        if (!take(c, '+')) take(c, '-');
        if (!take_digits(c)) return fail_expected(c, "a digit in the exponent");
    }
    return 0;
}

static int check_word(struct checker *c, const char *word) {
    size_t len = strlen(word);
    if (c->len - c->at < len || memcmp(c->text + c->at, word, len) != 0)
        return fail_expected(c, "a JSON value");
    c->at += len;
    return 0;
}

static int check_array(struct checker *c) {
    skip_space(c);
    if (take(c, ']')) return 0;
    for (;;) {
        if (check_value(c)) return -1;
        if (take(c, ']')) return 0;
        if (!take(c, ',')) return fail_expected(c, "',' or ']'");
    }
}

static int check_name(struct checker *c) {
    if (c->at == c->len || c->text[c->at] != '"') return fail_expected(c, "a member name in quotes");
    if (c->name_count == c->name_cap) {
        c->name_cap = c->name_cap ? c->name_cap * 2 : 32;
        c->names = xrealloc(c->names, c->name_cap * sizeof *c->names);
    }
    struct name *name = &c->names[c->name_count++];
    name->at = c->at;
    name->offset = c->unescaped.len;
    if (check_string(c, &c->unescaped)) return -1;
    name->len = c->unescaped.len - name->offset;
    return 0;
}

/* By text, and equal ones by place. */
static int compare_names(const void *left, const void *right, void *checker) {
    const struct name *a = left, *b = right;
    const char *text = buf_str(&((const struct checker *)checker)->unescaped);
    int order = memcmp(text + a->offset, text + b->offset, a->len < b->len ? a->len : b->len);
    if (order != 0) return order;
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static int fail_repeated(struct checker *c, const struct name *name) {
    const char *text = buf_str(&c->unescaped) + name->offset;
    size_t shown = 0;
    while (shown < name->len) { /* cut between characters */
        size_t next = shown + utf8_len(text + shown, name->len - shown);
        if (next > NAME_SHOWN_MAX) break;
        shown = next;
    }
    char words[NAME_SHOWN_MAX + 64];
    snprintf(words, sizeof words, "the member name \"%.*s\"%s appears twice in one object", (int)shown, text,
             shown < name->len ? "..." : "");
    return fail_at(c, name->at, words);
}

/* Looks for repeated names among those from `first` on, and forgets these. */
static int close_object(struct checker *c, size_t first) {
    size_t count = c->name_count - first;
    if (count == 0) return 0;
    struct name *names = c->names + first;
    size_t text_begin = names[0].offset;
    const char *text = buf_str(&c->unescaped);
    qsort_r(names, count, sizeof *names, compare_names, c);
    const struct name *repeated = NULL; /* the first in the document */
    for (size_t i = 1; i < count; i++) {
        const struct name *a = &names[i - 1], *b = &names[i];
        if (a->len != b->len || memcmp(text + a->offset, text + b->offset, a->len) != 0) continue;
        if (!repeated || b->at < repeated->at) repeated = b;
    }
    if (repeated) return fail_repeated(c, repeated);
    c->name_count = first;
    c->unescaped.len = text_begin;
    return 0;
}

static int check_object(struct checker *c) {
    size_t first = c->name_count;
    skip_space(c);
    if (take(c, '}')) return 0;
    for (;;) {
        skip_space(c);
        if (check_name(c)) return -1;
        skip_space(c);
        if (!take(c, ':')) return fail_expected(c, "':'");
        if (check_value(c)) return -1;
        if (take(c, '}')) return close_object(c, first);
        if (!take(c, ',')) return fail_expected(c, "',' or '}'");
    }
}

static int check_nested(struct checker *c, int (*check)(struct checker *c)) {
    if (c->depth == JSON_DEPTH_MAX) return fail_at(c, c->at, "nested more than 16 levels deep");
    c->at++;
    c->depth++;
    int result = check(c);
    c->depth--;
    return result;
}

static int check_value_here(struct checker *c) {
    switch (c->at < c->len ? c->text[c->at] : '\0') {
    case '{':
        return check_nested(c, check_object);
    case '[':
        return check_nested(c, check_array);
    case '"':
        return check_string(c, NULL);
    case 't':
        return check_word(c, "true");
    case 'f':
        return check_word(c, "false");
    case 'n':
        return check_word(c, "null");
    case '-':
    case '0' ... '9':
        return check_number(c);
    default:
        return fail_expected(c, "a JSON value");
    }
}

/* A value with the space around it. Recursion ends at JSON_DEPTH_MAX. */
static int check_value(struct checker *c) {
    skip_space(c);
    if (check_value_here(c)) return -1;
    skip_space(c);
    return 0;
}

int json_check(const char *text, size_t len, struct err *err) {
    struct checker c = {.text = text, .len = len, .unescaped = BUF_INIT(len), .err = err};
    int result;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        result = fail_at(&c, 0, "a byte order mark is not allowed");
    } else {
        result = check_value(&c);
        if (result == 0 && c.at < c.len) result = fail_expected(&c, "nothing behind the value");
    }
    free(c.names);
    buf_free(&c.unescaped);
    return result;
}
