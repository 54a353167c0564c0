/* The head of a request, looked at byte by byte: what libmicrohttpd lets pass and a gateway in front may read
 * otherwise is refused, so that both see the same request. Pure, any thread.
 *
 * Refused: bare CR or LF, NUL and other controls, folded lines, space before a colon, names that are no
 * tokens, a method that is none, a first line with more than single spaces, more or less than one Host, more
 * than one Content-Length, Content-Length beside Transfer-Encoding, a Transfer-Encoding other than chunked
 * to the letter, an Expect other than 100-continue. */
#ifndef RL_HTTP_HTTP_HEAD_H
#define RL_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

/* Where it lies. libmicrohttpd takes a head apart in place: each CR, each LF, the first colon of a line and
 * the spaces of the first line have become NUL, and the target may have been decoded. */
struct http_head {
    const char *bytes; /* from the method to behind the empty line */
    size_t size;
    const char *target; /* in it */
    size_t target_len;  /* as it came, before anything was decoded */
    const char *version;
    size_t fields; /* how many libmicrohttpd has found */
};

struct http_fault {
    unsigned status;
    const char *detail; /* a sentence for the client */
};

/* Returns NULL if the head is in order, else what is wrong with it. `*chunked`: the body comes in chunks.
 * Blanks at the end of values become NUL. */
const struct http_fault *http_head_check(const struct http_head *head, bool *chunked);

#endif
