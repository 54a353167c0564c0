/* The table of HTTP methods. Knows nothing of what they do. */
#include "base/http_method.h"

#include <string.h>

const struct http_method_name http_method_names[] = {
    {HTTP_GET, "GET"},     {HTTP_HEAD, "HEAD"},     {HTTP_POST, "POST"},       {HTTP_PUT, "PUT"},
    {HTTP_PATCH, "PATCH"}, {HTTP_DELETE, "DELETE"}, {HTTP_OPTIONS, "OPTIONS"},
};
const size_t http_method_count = sizeof http_method_names / sizeof http_method_names[0];

enum http_method http_method_of(const char *name) {
    for (size_t i = 0; i < http_method_count; i++) {
        if (strcmp(http_method_names[i].name, name) == 0) return http_method_names[i].method;
    }
    return HTTP_OTHER;
}
