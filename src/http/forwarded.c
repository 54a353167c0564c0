/* X-Forwarded-For and Forwarded, read from the right.
 *
 * Knows no requests, and does not decide whether the peer is to be believed: client_ip.c does. */
#include "http/forwarded.h"

#include <string.h>
#include <strings.h>

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

enum { NODE_MAX = 320, PORT_DIGITS = 5 }; /* a host of 253 bytes and its port fit */

struct span {
    const char *at;
    size_t len;
};

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

static struct span trim(struct span text) {
    while (text.len > 0 && is_space(text.at[0]))
        text.at++, text.len--;
    while (text.len > 0 && is_space(text.at[text.len - 1]))
        text.len--;
    return text;
}

static bool all_of(struct span text, const char *allowed) {
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '\0' || !strchr(allowed, text.at[i])) return false;
    return text.len > 0;
}

/* Cuts what stands behind the first `separator`, which goes too. False if there is none. */
static bool cut_behind(struct span *text, char separator, struct span *behind) {
    const char *found = text->len > 0 ? memchr(text->at, separator, text->len) : NULL;

    if (!found) return false;
    size_t before = (size_t)(found - text->at);
    *behind = (struct span){found + 1, text->len - before - 1};
    text->len = before;
    return true;
}

/* --- one node --------------------------------------------------------------------------------------------
 */

/* A number, or a name that hides it (RFC 7239, 6.3). */
static bool is_port(struct span text) {
    if (text.len > 1 && *text.at == '_') return all_of(text, ALNUM "._-");
    return text.len <= PORT_DIGITS && all_of(text, "0123456789");
}

static bool read_ipv6(struct span text, struct ip *ip) {
    struct span zone;

    if (cut_behind(&text, '%', &zone) && !all_of(zone, ALNUM "._~%-")) return false;
    return memchr(text.at, ':', text.len) && ip_parse(text.at, text.len, ip);
}

static bool read_bracketed(struct span text, struct ip *ip) {
    struct span inner = {text.at + 1, text.len - 1}, behind;

    if (!cut_behind(&inner, ']', &behind) || !read_ipv6(inner, ip)) return false;
    if (behind.len == 0) return true;
    return *behind.at == ':' && is_port((struct span){behind.at + 1, behind.len - 1});
}

bool forwarded_node(const char *text, size_t len, struct ip *ip) {
    struct span node = {text, len}, port, more;

    if (len == 0) return false;
    if (*text == '[') return read_bracketed(node, ip);
    if (!cut_behind(&node, ':', &port)) return ip_parse(node.at, node.len, ip);
    more = port;
    if (cut_behind(&more, ':', &(struct span){NULL, 0})) return read_ipv6((struct span){text, len}, ip);
    return is_port(port) && ip_parse(node.at, node.len, ip);
}

static bool read_list_entry(struct span entry, struct ip *ip) {
    return forwarded_node(entry.at, entry.len, ip);
}

/* --- one element of Forwarded ----------------------------------------------------------------------------
 */

static void skip(struct span *text, size_t len) {
    text->at += len;
    text->len -= len;
}

/* How many bytes at the beginning of `text` are none of `ends`, no space and no control. */
static size_t word_len(struct span text, const char *ends) {
    size_t len = 0;

    while (len < text.len && (unsigned char)text.at[len] > ' ' && text.at[len] != 0x7f &&
           !strchr(ends, text.at[len]))
        len++;
    return len;
}

/* Reads a quoted text into `value`; `text` stands on the opening quote and is left behind the closing one. */
static bool take_quoted(struct span *text, char value[NODE_MAX], size_t *len) {
    *len = 0;
    for (skip(text, 1); text->len > 0; skip(text, 1)) {
        if (*text->at == '"') {
            skip(text, 1);
            return true;
        }
        if (*text->at == '\\') skip(text, 1);
        if (text->len == 0 || *len == NODE_MAX) return false;
        value[(*len)++] = *text->at;
    }
    return false;
}

/* Hosts and addresses are often written without the quotes that ':' and '[' call for. */
static bool take_value(struct span *text, char value[NODE_MAX], size_t *len) {
    if (text->len > 0 && *text->at == '"') return take_quoted(text, value, len);
    *len = word_len(*text, ";,\"\\");
    if (*len == 0 || *len > NODE_MAX) return false;
    memcpy(value, text->at, *len);
    skip(text, *len);
    return true;
}

/* Reads name=value up to the next ';' and tells whether it was "for". */
static bool take_pair(struct span *text, bool *is_for, char value[NODE_MAX], size_t *len) {
    size_t name_len = word_len(*text, "=;,\"\\");
    const char *name = text->at;

    skip(text, name_len);
    if (name_len == 0 || text->len == 0 || *text->at != '=') return false;
    skip(text, 1);
    *is_for = name_len == 3 && strncasecmp(name, "for", 3) == 0;
    if (!take_value(text, value, len)) return false;
    *text = trim(*text);
    return text->len == 0 || *text->at == ';';
}

static bool read_pairs_entry(struct span entry, struct ip *ip) {
    char value[NODE_MAX];
    size_t len, found = 0;
    bool is_for;

    for (entry = trim(entry); entry.len > 0; entry = trim(entry)) {
        if (*entry.at == ';') {
            skip(&entry, 1);
            continue;
        }
        if (!take_pair(&entry, &is_for, value, &len)) return false;
        if (is_for && (found++ > 0 || !forwarded_node(value, len, ip))) return false;
    }
    return found == 1;
}

/* --- the walk --------------------------------------------------------------------------------------------
 */

static size_t backslashes_before(struct span text, size_t at) {
    size_t count = 0;

    while (count < at && text.at[at - count - 1] == '\\')
        count++;
    return count;
}

/* Takes the last entry off. Quotes are matched from the right too: what a client wrote further left, a quote
 * that is never closed for example, cannot reach the entries that proxies added behind it. */
static struct span take_last(struct span *list, bool quotes) {
    bool inside = false;
    size_t at = list->len;

    while (at > 0) {
        char c = list->at[at - 1];
        if (c == ',' && !inside) break;
        if (quotes && c == '"' && (!inside || backslashes_before(*list, at - 1) % 2 == 0)) inside = !inside;
        at--;
    }
    struct span entry = {list->at + at, list->len - at};
    list->len = at > 0 ? at - 1 : 0;
    return trim(entry);
}

static const struct {
    bool quotes;
    bool (*read)(struct span entry, struct ip *ip);
} forms[] = {
    [FORWARDED_LIST] = {false, read_list_entry},
    [FORWARDED_PAIRS] = {true, read_pairs_entry},
};

struct ip forwarded_client(enum forwarded_form form, const char *text, size_t len, const struct ip *peer,
                           const struct ip_blocks *trusted) {
    struct span list = {text, len};
    struct ip client = *peer, found;

    for (int i = 0; i < FORWARDED_ENTRIES_MAX && list.len > 0; i++) {
        struct span entry = take_last(&list, forms[form].quotes);
        if (entry.len == 0) continue; /* ", ," says nothing (RFC 9110, 5.6.1) */
        if (!forms[form].read(entry, &found)) break;
        client = found;
        if (!ip_blocks_have(trusted, &found)) break;
    }
    return client;
}
