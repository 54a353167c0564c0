/* Answers written past microhttpd, where it takes none: in the middle of a body, before a request is whole,
 * or with no room left for headers. */
#ifndef RL_HTTP_HTTP_RAW_H
#define RL_HTTP_HTTP_RAW_H

struct http_connection;

/* Writes a problem and sees to it that the connection lingers. Nothing else may be written to it afterwards;
 * the caller has microhttpd close it. */
void http_raw_problem(struct http_connection *c, unsigned status, const char *detail);

#endif
