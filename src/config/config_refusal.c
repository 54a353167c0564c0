/* The words of a refusal. Decides nothing about what is allowed. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/config_internal.h"

enum { SHOWN_MAX = 48 }; /* bytes of a text or number that an error repeats */

int config_refuse(struct config_refusal *why, unsigned status, const char *member, const char *fmt, ...) {
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    why->status = status;
    snprintf(why->member, sizeof why->member, "%s", member);
    return err_set(&why->err, "%s", text);
}

/* Length of `text` cut to SHOWN_MAX without parting a UTF-8 character. */
static int shown_len(const char *text) {
    size_t len = strnlen(text, SHOWN_MAX + 1);
    if (len <= SHOWN_MAX) return (int)len;
    for (len = SHOWN_MAX; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80; len--) {
    }
    return (int)len;
}

void config_got(const cJSON *value, char out[CONFIG_GOT_MAX]) {
    static const struct {
        int type;
        const char *words;
    } plain[] = {{cJSON_NULL, "null"},
                 {cJSON_True, "true"},
                 {cJSON_False, "false"},
                 {cJSON_Array, "an array"},
                 {cJSON_Object, "an object"}};
    const char *text = value->valuestring;
    if (text) {
        const char *quote = cJSON_IsString(value) ? "\"" : "";
        int len = shown_len(text);
        snprintf(out, CONFIG_GOT_MAX, "%s%.*s%s%s", quote, len, text, text[len] ? "..." : "", quote);
        return;
    }
    snprintf(out, CONFIG_GOT_MAX, "nothing");
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if ((value->type & 0xff) == plain[i].type) snprintf(out, CONFIG_GOT_MAX, "%s", plain[i].words);
    }
}
