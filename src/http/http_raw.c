/* Answers written past microhttpd. Knows sockets and TLS sessions, no states of microhttpd: whoever calls has
 * made sure that no answer is on its way. */
#include "http/http_raw.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

#include "http/http_internal.h"
#include "http/respond.h"

enum { ANSWER_MAX = 4096 };

static void add_date(struct buf *out) {
    char text[64];
    time_t now = time(NULL);
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc); /* the locale is C: nobody sets another */
    buf_addf(out, "Date: %s\r\n", text);
}

static void add_headers(struct buf *out, const struct http_request *r, size_t body_len) {
    bool made = r && r->status != 0; /* an answer that cannot be given any more: its fields are all there */

    add_date(out);
    buf_adds(out, "Connection: close\r\n");
    if (!made) buf_adds(out, "Cache-Control: no-store\r\n");
    for (size_t i = 0; !made && i < respond_fixed_header_count; i++)
        buf_addf(out, "%s: %s\r\n", respond_fixed_headers[i].name, respond_fixed_headers[i].value);
    if (r) http_fields_write(r, out);
    buf_addf(out, "Content-Type: application/problem+json\r\nContent-Length: %zu\r\n\r\n", body_len);
}

/* What does not go out at once is lost: nobody waits for a client that is being refused. */
static bool write_out(struct http_connection *c, const struct buf *answer) {
    const union MHD_ConnectionInfo *tls = NULL;

    if (c->http->tls) tls = MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (!c->http->tls) return send(c->fd, answer->data, answer->len, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    return tls && gnutls_record_send(tls->tls_session, answer->data, answer->len) > 0;
}

void http_raw_problem(struct http_connection *c, unsigned status, const char *detail) {
    const struct http_request *r = c->request;
    struct buf answer = BUF_INIT(ANSWER_MAX), body = BUF_INIT(ANSWER_MAX / 2);

    respond_problem_text(&body, status, NULL, detail);
    buf_addf(&answer, "HTTP/1.1 %u %s\r\n", status, respond_status_words(status));
    add_headers(&answer, r, body.len);
    if (!r || r->pub.method != HTTP_HEAD) buf_add(&answer, buf_str(&body), body.len);
    c->refused = true;
    c->linger = write_out(c, &answer);
    buf_free(&body);
    buf_free(&answer);
}
