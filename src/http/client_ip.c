/* The client's address, from the connection and what a trusted proxy says, as one canonical text for keys.
 *
 * Reads no list of proxies itself: forwarded.c does. */
#include "http/client_ip.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "http/forwarded.h"
#include "http/http.h"

enum { LINES_MAX = 32 * 1024 }; /* of one field's lines, joined; the head of a request is smaller */

static const uint8_t translated[12] = {0, 0x64, 0xff, 0x9b}; /* 64:ff9b::/96, RFC 6052 */

void client_ip_text(const struct ip *ip, unsigned ipv6_prefix, char out[CLIENT_IP_TEXT_MAX]) {
    struct ip shown = *ip;

    if (memcmp(ip->bytes, translated, sizeof translated) == 0)
        memcpy(shown.bytes, (uint8_t[12]){[10] = 0xff, [11] = 0xff}, 12);
    bool whole = ip_is_ipv4(&shown) || ip_is_loopback(&shown) || ipv6_prefix >= CLIENT_IP_PREFIX_MAX;
    if (!whole) ip_cut(&shown, ipv6_prefix);
    ip_text(&shown, out);
    size_t len = strlen(out);
    if (!whole) snprintf(out + len, CLIENT_IP_TEXT_MAX - len, "/%u", ipv6_prefix);
}

bool client_ip_loopback(const struct sockaddr *peer) {
    struct ip ip;

    return ip_of_socket(peer, &ip) && ip_is_loopback(&ip);
}

bool client_ip_trusted(const struct sockaddr *peer, const struct client_ip_settings *settings) {
    struct ip ip;

    return settings->trusted.count > 0 && ip_of_socket(peer, &ip) && ip_blocks_have(&settings->trusted, &ip);
}

struct lines {
    const char *name;
    size_t count;
    struct buf text;
};

static bool add_line(void *arg, const char *name, const char *value) {
    struct lines *lines = arg;

    if (strcasecmp(name, lines->name) != 0) return true;
    if (lines->count++ > 0) buf_addc(&lines->text, ',');
    buf_adds(&lines->text, value);
    return true;
}

/* Follows the field `name`, if the request has it. What does not fit is not followed at all: its end, the
 * only part to be believed, would be missing. */
static bool follow(const struct request *request, const char *name, enum forwarded_form form,
                   const struct ip_blocks *trusted, struct ip *client) {
    struct lines lines = {.name = name, .text = BUF_INIT(LINES_MAX)};

    request_each_header(request, add_line, &lines);
    if (!lines.text.overflow)
        *client = forwarded_client(form, buf_str(&lines.text), lines.text.len, client, trusted);
    buf_free(&lines.text);
    return lines.count > 0;
}

void client_ip_find(const struct request *request, const struct client_ip_settings *settings,
                    char out[CLIENT_IP_TEXT_MAX]) {
    struct ip client;

    if (!ip_of_socket(request->peer, &client)) {
        snprintf(out, CLIENT_IP_TEXT_MAX, "unknown");
        return;
    }
    if (ip_blocks_have(&settings->trusted, &client) &&
        !follow(request, "X-Forwarded-For", FORWARDED_LIST, &settings->trusted, &client))
        follow(request, "Forwarded", FORWARDED_PAIRS, &settings->trusted, &client);
    client_ip_text(&client, settings->ipv6_prefix, out);
}
