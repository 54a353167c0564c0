/* Error text for a caller: setting it and putting context in front. Prints nothing. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, const char *fmt, ...) {
    if (!err) return -1;
    /* Formatted aside, because an argument may be the text that is being replaced. */
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    memcpy(err->text, text, sizeof text);
    return -1;
}

int err_prefix(struct err *err, const char *fmt, ...) {
    if (!err) return -1;
    char words[ERR_TEXT_MAX], text[2 * ERR_TEXT_MAX + 2];
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    snprintf(text, sizeof text, "%s: %s", words, err->text);
    memcpy(err->text, text, sizeof err->text - 1);
    err->text[sizeof err->text - 1] = '\0';
    return -1;
}
