/* Is this text exactly one RFC 8259 JSON value, and unambiguous? Goes before cJSON, which takes more than
 * that.
 *
 * Refused: bad grammar (007, 5., trailing bytes, a BOM, raw controls), invalid UTF-8, lone surrogates,
 * \u0000, depth above 16, the same member name twice in one object (compared after unescaping). Never
 * recurses beyond the depth. */
#ifndef RL_CONFIG_JSON_CHECK_H
#define RL_CONFIG_JSON_CHECK_H

#include <stddef.h>

#include "base/err.h"

enum { JSON_DEPTH_MAX = 16 };

/* Returns 0, or -1 with words that give line and column (and byte offset) of the fault. Pure, any thread. */
int json_check(const char *text, size_t len, struct err *err);

#endif
