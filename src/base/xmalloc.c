/* Memory that is there: the one place where running out of it ends the process. Frees nothing. */
#include "base/xmalloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No stdio and no exit handlers: both may want memory. */
static _Noreturn void out_of_memory(void) {
    static const char line[] = "ratelimitd: out of memory\n";
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
    (void)written;
    _exit(1);
}

void *xmalloc(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory) out_of_memory();
    return memory;
}

void *xcalloc(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory) out_of_memory();
    return memory;
}

void *xrealloc(void *memory, size_t size) {
    void *moved = realloc(memory, size ? size : 1);
    if (!moved) out_of_memory();
    return moved;
}

char *xstrdup(const char *text) {
    return xstrndup(text, strlen(text));
}

char *xstrndup(const char *text, size_t len) {
    if (len == SIZE_MAX) out_of_memory();
    char *copy = xmalloc(len + 1);
    if (len > 0) memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}
