/* What single header fields say, read strictly.
 *
 * Does not look fields up and refuses nobody: guard.c and the handlers do. */
#include "http/fields.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static const char NAME_BYTES[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
enum { WHOLE_DIGITS = 18, PORT_MAX = 65535, IPV6_TEXT = 46 };

bool field_whole(const char *text, size_t len, int64_t *value) {
    int64_t n = 0;

    while (len > 1 && *text == '0')
        text++, len--;
    if (len == 0 || len > WHOLE_DIGITS) return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        n = n * 10 + (text[i] - '0');
    }
    *value = n;
    return true;
}

static bool ipv6_read(const char *text, size_t len, struct in6_addr *address) {
    char copy[IPV6_TEXT];

    if (len >= sizeof copy) return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inet_pton(AF_INET6, copy, address) == 1;
}

/* Reads the name at `text`. Returns what stands behind it, NULL if there is none. */
static const char *host_name(const char *text, struct field_host *host) {
    struct in6_addr address;

    host->ipv6 = *text == '[';
    host->name = host->ipv6 ? text + 1 : text;
    host->len = host->ipv6 ? strcspn(host->name, "]") : strspn(text, NAME_BYTES);
    if (host->len == 0) return NULL;
    if (!host->ipv6) return text + host->len;
    if (host->name[host->len] != ']' || !ipv6_read(host->name, host->len, &address)) return NULL;
    return host->name + host->len + 1;
}

bool field_host_read(const char *text, struct field_host *host) {
    int64_t port = 0;
    const char *rest = host_name(text, host);

    if (!rest) return false;
    if (*rest == ':' && (!field_whole(rest + 1, strlen(rest + 1), &port) || port < 1 || port > PORT_MAX))
        return false;
    host->port = (unsigned)port;
    return *rest == ':' || *rest == '\0';
}

static bool host_same_name(const struct field_host *a, const struct field_host *b) {
    struct in6_addr one, two;

    if (a->ipv6 != b->ipv6) return false;
    if (!a->ipv6) return a->len == b->len && strncasecmp(a->name, b->name, a->len) == 0;
    return ipv6_read(a->name, a->len, &one) && ipv6_read(b->name, b->len, &two) &&
           IN6_ARE_ADDR_EQUAL(&one, &two);
}

bool field_host_local(const struct field_host *host, const char *also) {
    const char *const local[] = {"localhost", "127.0.0.1", "::1", also};

    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        if (!local[i]) continue;
        struct field_host known = {local[i], strlen(local[i]), strchr(local[i], ':') != NULL, 0};
        if (host_same_name(host, &known)) return true;
    }
    return false;
}

bool field_origin_same(const char *origin, const struct field_host *host) {
    static const struct {
        const char *prefix;
        unsigned port;
    } schemes[] = {{"http://", 80}, {"https://", 443}};
    struct field_host theirs;

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t len = strlen(schemes[i].prefix);
        if (strncasecmp(origin, schemes[i].prefix, len) != 0) continue;
        if (!field_host_read(origin + len, &theirs) || !host_same_name(&theirs, host)) return false;
        unsigned port = theirs.port ? theirs.port : schemes[i].port;
        return port == (host->port ? host->port : schemes[i].port);
    }
    return false;
}

const char *field_bearer(const char *authorization) {
    static const char scheme[] = "Bearer";
    size_t len = sizeof scheme - 1;

    if (strncasecmp(authorization, scheme, len) != 0) return NULL;
    authorization += len;
    if (*authorization != ' ' && *authorization != '\0') return NULL;
    return authorization + strspn(authorization, " ");
}

static const char *skip_blanks(const char *text) {
    return text + strspn(text, " \t");
}

bool field_media_is(const char *content_type, const char *type) {
    static const char *const charsets[] = {"charset=utf-8", "charset=\"utf-8\""};
    size_t len = strlen(type);

    if (strncasecmp(content_type, type, len) != 0) return false;
    const char *rest = skip_blanks(content_type + len);
    if (*rest == '\0') return true;
    if (*rest != ';') return false;
    rest = skip_blanks(rest + 1);
    for (size_t i = 0; i < sizeof charsets / sizeof *charsets; i++) {
        len = strlen(charsets[i]);
        if (strncasecmp(rest, charsets[i], len) == 0) return *skip_blanks(rest + len) == '\0';
    }
    return false;
}

/* Is the entity tag at `*text` the wanted one? Moves `*text` behind it. */
static enum field_match tag_read(const char **text, const char *tag, bool strong) {
    bool weak = strncmp(*text, "W/", 2) == 0;
    const char *start = *text + (weak ? 2 : 0);
    const char *end = *start == '"' ? strchr(start + 1, '"') : NULL;

    if (!end) return FIELD_MATCH_BAD;
    size_t len = (size_t)(end + 1 - start);
    *text = end + 1;
    if (weak && strong) return FIELD_MATCH_NO;
    return len == strlen(tag) && memcmp(start, tag, len) == 0 ? FIELD_MATCH_YES : FIELD_MATCH_NO;
}

/* A list may have empty elements (RFC 9110, 5.6.1). */
static const char *skip_commas(const char *text) {
    return text + strspn(text, " \t,");
}

enum field_match field_tags(const char *list, const char *tag, bool strong) {
    enum field_match found = FIELD_MATCH_BAD; /* an empty list is no list */
    const char *text = skip_blanks(list);

    if (*text == '*') return *skip_blanks(text + 1) == '\0' ? FIELD_MATCH_ANY : FIELD_MATCH_BAD;
    for (text = skip_commas(text); *text; text = skip_commas(text)) {
        enum field_match one = tag_read(&text, tag, strong);
        text = skip_blanks(text);
        if (one == FIELD_MATCH_BAD || (*text != ',' && *text != '\0')) return FIELD_MATCH_BAD;
        if (found != FIELD_MATCH_YES) found = one;
    }
    return found;
}
