/* Memory that is there: out of memory ends the process here, with one line, and nowhere else. */
#ifndef RL_BASE_XMALLOC_H
#define RL_BASE_XMALLOC_H

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size); /* zeroed; overflow of the product ends the process */
void *xrealloc(void *memory, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t len); /* copies len bytes and adds a NUL */

#endif
