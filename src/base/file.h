/* Reading a whole file of bounded size while the server serves. */
#ifndef RL_BASE_FILE_H
#define RL_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the file to `out`, which bounds its size. It must be a regular file: a pipe would have to be waited
 * for. -1 with words that follow the file's name. */
int file_read(const char *path, struct buf *out, struct err *err);

#endif
