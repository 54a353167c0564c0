/* Small JSON bodies that are no configuration: one object of texts and numbers, read as strictly. Pure, any
 * thread. */
#ifndef RL_CONFIG_JSON_FORM_H
#define RL_CONFIG_JSON_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

/* One member that may be there: a text (`text` of `text_size` bytes) or a number in millionths (`number`).
 * What is absent leaves its target as it is. */
struct json_form_member {
    const char *name;
    bool required;
    bool whole; /* a number without decimals */
    char *text;
    size_t text_size;
    int64_t *number;
};

/* Returns 0, or -1 and `why`: 400 what is not JSON, 422 with the member what is not such an object. */
int json_form_read(const char *body, size_t len, const struct json_form_member *members, size_t count,
                   struct config_refusal *why);

#endif
