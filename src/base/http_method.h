/* HTTP methods as bits, so that a set of them is a number, and their names. Pure, any thread. */
#ifndef RL_BASE_HTTP_METHOD_H
#define RL_BASE_HTTP_METHOD_H

#include <stddef.h>

enum http_method {
    HTTP_GET = 1 << 0,
    HTTP_HEAD = 1 << 1,
    HTTP_POST = 1 << 2,
    HTTP_PUT = 1 << 3,
    HTTP_PATCH = 1 << 4,
    HTTP_DELETE = 1 << 5,
    HTTP_OPTIONS = 1 << 6,
    HTTP_OTHER = 1 << 7 /* whatever else: it has no name */
};

struct http_method_name {
    enum http_method method;
    const char *name; /* "GET" */
};

extern const struct http_method_name http_method_names[]; /* all but HTTP_OTHER, in the order of their bits */
extern const size_t http_method_count;

/* The method of that name, letter by letter; HTTP_OTHER if there is none. */
enum http_method http_method_of(const char *name);

#endif
