/* Writing JSON into a buf, without trees: commas and escapes are its only knowledge.
 *
 * Use:  json_begin(&j, &buf); json_object(&j, NULL); json_str(&j, "policy", name); json_end(&j); ...
 * Inside an array `name` is NULL. Text that is not valid UTF-8 is written with U+FFFD in place of each
 * bad byte, so that the output is always valid JSON; U+2028, U+2029, '<' and controls are escaped. */
#ifndef RL_BASE_JSON_OUT_H
#define RL_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_OUT_DEPTH = 16 };

struct json_out {
    struct buf *buf; /* not owned */
    int depth;
    char close[JSON_OUT_DEPTH]; /* '}' or ']' for each open level */
    bool more[JSON_OUT_DEPTH];  /* something was already written on this level */
};

void json_begin(struct json_out *json, struct buf *buf);
void json_object(struct json_out *json, const char *name); /* opens; name NULL at the top and in arrays */
void json_array(struct json_out *json, const char *name);
void json_end(struct json_out *json); /* closes the innermost level */
void json_str(struct json_out *json, const char *name, const char *value);
void json_strn(struct json_out *json, const char *name, const char *value, size_t len);
void json_int(struct json_out *json, const char *name, int64_t value);
void json_bool(struct json_out *json, const char *name, bool value);
void json_null(struct json_out *json, const char *name);
void json_micro(struct json_out *json, const char *name,
                int64_t micro); /* millionths as a decimal: 1500000 -> 1.5 */
void json_seconds_ms(struct json_out *json, const char *name,
                     int64_t us); /* us as seconds, three decimals, rounded up; 0 -> 0 */
void json_raw(struct json_out *json, const char *name, const char *value, size_t len); /* already JSON */

/* One JSON string with its quotes, appended to `buf`. */
void json_escape(struct buf *buf, const char *text, size_t len);

#endif
