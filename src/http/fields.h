/* Readers of request header fields: Host, Origin, Authorization, Content-Type, entity tags, Content-Length.
 * They say what a field means and decide nothing. Pure, any thread. */
#ifndef RL_HTTP_FIELDS_H
#define RL_HTTP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A host as in Host and Origin. `name` points into the text it was read from, without the brackets of an IPv6
 * address. */
struct field_host {
    const char *name;
    size_t len;
    bool ipv6;
    unsigned port; /* 0: not given */
};

/* Reads "name", "name:port", "[v6]", "[v6]:port". False for anything else: user info, spaces, empty name,
 * port 0. */
bool field_host_read(const char *text, struct field_host *host);

/* Is it localhost, 127.0.0.1, [::1] or `also` (a name or an address without brackets; may be NULL)? Any port.
 */
bool field_host_local(const struct field_host *host, const char *also);

/* Is the Origin (scheme://host[:port]) this host and port? "null", other schemes than http and https, and
 * anything that is not an origin are not. */
bool field_origin_same(const char *origin, const struct field_host *host);

/* The token behind "Bearer " (any case, RFC 6750), "" included; NULL if it is another scheme. */
const char *field_bearer(const char *authorization);

/* Is the media type `type`, with no parameter but charset=utf-8? */
bool field_media_is(const char *content_type, const char *type);

enum field_match { FIELD_MATCH_BAD, FIELD_MATCH_ANY, FIELD_MATCH_YES, FIELD_MATCH_NO };

/* If-Match and If-None-Match: "*" or a list of entity tags. `tag` with its quotes. `strong`: a W/"..." never
 * matches. */
enum field_match field_tags(const char *list, const char *tag, bool strong);

/* Digits only into a number, "0" to 18 digits' worth; longer, signed or empty is false. */
bool field_whole(const char *text, size_t len, int64_t *value);

#endif
