/* Did microhttpd hand over the header fields as they were sent? A NUL in one ends its text, so that
 * "Bearer TOKEN<NUL>x" would be the token; RFC 9110 wants such a request refused.
 *
 * Up to 0.9.76 microhttpd keeps no lengths, but it reads the fields where they arrived, in one piece of
 * memory, and puts NULs over the line ends. So what follows a value's end tells: within two bytes the next
 * field's name, or, behind the last, within four the end of the head. Later versions refuse such fields
 * themselves, and the layout of their memory is not known here. Folded lines (obs-fold), which RFC 9112 wants
 * refused as well, are found in the same way, by and large. */
#include "http/http_internal.h"

#include <stdint.h>
#include <string.h>

#if MHD_VERSION < 0x00097700

enum { LINE_END = 2, HEAD_END = 2 * LINE_END };

struct walk {
    const char *end; /* of the last value; NULL before the first */
    bool whole;
};

static bool near_by(const char *end, const char *next, size_t most) {
    return next <= end || (size_t)(next - end) <= most;
}

static enum MHD_Result look(void *arg, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct walk *walk = arg;

    (void)kind;
    if (walk->end && !near_by(walk->end, name, LINE_END)) walk->whole = false;
    walk->end = value ? value + strlen(value) : NULL;
    return walk->whole ? MHD_YES : MHD_NO;
}

bool http_fields_whole(struct MHD_Connection *connection, const char *method) {
    const union MHD_ConnectionInfo *head =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct walk walk = {NULL, true};

    MHD_get_connection_values(connection, MHD_HEADER_KIND, look, &walk);
    return walk.whole && (!head || !walk.end || near_by(walk.end, method + head->header_size, HEAD_END));
}

#else

bool http_fields_whole(struct MHD_Connection *connection, const char *method) {
    (void)connection, (void)method;
    return true;
}

#endif
