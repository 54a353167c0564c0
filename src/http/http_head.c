/* The head of a request, looked at byte by byte. Knows no connection and none of libmicrohttpd's functions,
 * only what its parser leaves in memory. */
#include "http/http_head.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { METHOD_MAX = 32, VERSION_LEN = 8 };

enum { LETTER = 1, HOST_CHAR = 2, BOTH = LETTER | HOST_CHAR };

/* Of what tokens are made, and Host fields. */
static const unsigned char kinds[256] = {
    ['0' ... '9'] = BOTH, ['A' ... 'Z'] = BOTH, ['a' ... 'z'] = BOTH,

    ['!'] = BOTH,         ['$'] = BOTH,         ['%'] = BOTH,         ['&'] = BOTH,
    ['\''] = BOTH,        ['*'] = BOTH,         ['+'] = BOTH,         ['-'] = BOTH,
    ['.'] = BOTH,         ['_'] = BOTH,         ['~'] = BOTH,

    ['#'] = LETTER,       ['^'] = LETTER,       ['`'] = LETTER,       ['|'] = LETTER,

    ['('] = HOST_CHAR,    [')'] = HOST_CHAR,    [','] = HOST_CHAR,    [';'] = HOST_CHAR,
    ['='] = HOST_CHAR,    [':'] = HOST_CHAR,    ['['] = HOST_CHAR,    [']'] = HOST_CHAR,
};

static const struct http_fault bad_method = {400, "The method is not a word of 1 to 32 characters."};
static const struct http_fault bad_line = {
    400, "The first line is not METHOD, one space, target, one space, version, CR LF."};
static const struct http_fault bad_name = {
    400, "A header field is not NAME: VALUE on one line, without space before the colon."};
static const struct http_fault bad_value = {400, "The value of a header field holds control characters."};
static const struct http_fault bad_end = {400,
                                          "A line of the head ends otherwise than by CR LF, or holds a NUL."};
static const struct http_fault no_host = {400, "HTTP/1.1 wants one Host field."};
static const struct http_fault bad_host = {400, "There is more than one Host field, or it is not a host."};
static const struct http_fault two_lengths = {400, "There is more than one Content-Length."};
static const struct http_fault two_framings = {
    400, "The body's length is given twice, by Content-Length and by Transfer-Encoding."};
static const struct http_fault old_chunks = {400, "HTTP/1.0 has no Transfer-Encoding."};
static const struct http_fault bad_encoding = {
    501, "The only Transfer-Encoding taken is chunked, with no space behind it."};
static const struct http_fault bad_expect = {417, "The only Expect taken is 100-continue."};

/* What the fields that matter here say. */
struct seen {
    size_t fields, hosts, lengths, encodings;
    bool chunked, host_bad, expect_bad;
    bool trimmed; /* the value at hand had blanks at its end */
};

static const char *skip(const char *at, unsigned char kind) {
    while (kinds[(unsigned char)*at] & kind)
        at++;
    return at;
}

static const char *skip_value(const char *at) {
    while ((unsigned char)*at >= ' ' ? *at != 0x7f : *at == '\t')
        at++;
    return at;
}

static bool is_text(const char *text, size_t len, const char *wanted) {
    return len == strlen(wanted) && strncasecmp(text, wanted, len) == 0;
}

static void note(struct seen *seen, const char *name, size_t name_len, const char *value, size_t len) {
    seen->fields++;
    if (is_text(name, name_len, "host")) {
        seen->hosts++;
        if (skip(value, HOST_CHAR) < value + len) seen->host_bad = true;
    } else if (is_text(name, name_len, "content-length")) {
        seen->lengths++;
    } else if (is_text(name, name_len, "transfer-encoding")) {
        seen->encodings++;
        seen->chunked = is_text(value, len, "chunked") && !seen->trimmed;
    } else if (is_text(name, name_len, "expect")) {
        seen->expect_bad = seen->expect_bad || !is_text(value, len, "100-continue");
    }
}

/* Blanks at the end of a value are no part of it (RFC 9110, 5.5), and nobody is to see them: NUL takes their
 * place. Too late for Transfer-Encoding and Content-Length, which libmicrohttpd has read. */
static const char *trim(const char *value, const char *end) {
    const char *at = end;

    while (at > value && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    if (at < end) *(char *)(uintptr_t)at = '\0';
    return at;
}

/* All lines but the first. The last two bytes of a head that ends as it must are NUL, so that no skip runs
 * out of it. */
static const struct http_fault *check_fields(const char *at, const char *end, struct seen *seen) {
    if (end - at < 2 || end[-1] != '\0' || end[-2] != '\0') return &bad_end;
    while (*at != '\0') {
        const char *name = at, *name_end = skip(at, LETTER), *value, *value_end;

        if (name_end == name || *name_end != '\0') return &bad_name;
        for (value = name_end + 1; *value == ' ' || *value == '\t';)
            value++;
        at = skip_value(value);
        if (*at != '\0') return &bad_value;
        if (end - at < 4 || at[1] != '\0') return &bad_end;
        value_end = trim(value, at);
        seen->trimmed = value_end < at;
        note(seen, name, (size_t)(name_end - name), value, (size_t)(value_end - value));
        at += 2;
    }
    if (at + 2 == end) return NULL;
    return at[1] == '\0' ? &bad_end : &bad_name; /* an empty one */
}

static const struct http_fault *check_first_line(const struct http_head *head) {
    const char *method_end = skip(head->bytes, LETTER);
    size_t len = (size_t)(method_end - head->bytes);

    if (len == 0 || len > METHOD_MAX || *method_end != '\0') return &bad_method;
    if (method_end + 1 != head->target) return &bad_line;
    if (head->target + head->target_len + 1 != head->version) return &bad_line;
    if (head->version[VERSION_LEN] != '\0' || head->version[VERSION_LEN + 1] != '\0') return &bad_end;
    return NULL;
}

static const struct http_fault *judge(const struct seen *seen, const struct http_head *head) {
    bool old = head->version[VERSION_LEN - 1] == '0';

    if (seen->fields != head->fields) return &bad_end; /* a NUL hides one */
    if (seen->hosts == 0 && !old) return &no_host;
    if (seen->hosts > 1 || seen->host_bad) return &bad_host;
    if (seen->lengths > 1) return &two_lengths;
    if (seen->lengths > 0 && seen->encodings > 0) return &two_framings;
    if (seen->encodings > 0 && old) return &old_chunks;
    if (seen->encodings > 1 || (seen->encodings == 1 && !seen->chunked)) return &bad_encoding;
    if (seen->expect_bad && !old) return &bad_expect;
    return NULL;
}

const struct http_fault *http_head_check(const struct http_head *head, bool *chunked) {
    struct seen seen = {0};
    const struct http_fault *fault = check_first_line(head);

    if (!fault) fault = check_fields(head->version + VERSION_LEN + 2, head->bytes + head->size, &seen);
    if (!fault) fault = judge(&seen, head);
    *chunked = seen.encodings > 0;
    return fault;
}
