/* Passwords and tokens: read from a file, checked, made, kept out of core dumps, wiped. Their text never
 * appears in words for people. */
#ifndef RL_APP_SECRET_H
#define RL_APP_SECRET_H

#include <stddef.h>

#include "base/err.h"

enum { SECRET_TOKEN_MAX = 512, SECRET_PASSWORD_MAX = 1024 };

enum secret_kind {
    SECRET_TOKEN,   /* 1..512 printable ASCII characters, no spaces: it travels in an Authorization header */
    SECRET_PASSWORD /* 1..1024 bytes, no control characters */
};

/* NULL if `text` may serve, else words such as "must not be empty". An empty secret is refused, since it
 * would match whoever sends none. */
const char *secret_fault(enum secret_kind kind, const char *text, size_t len);

/* A copy in a page of its own, which core dumps leave out and forks do not get. Free with secret_free. */
char *secret_keep(const char *text, size_t len);

/* The content of a file (or pipe) without one newline at its end, if it may serve. NULL with words that begin
 * with what is wrong. Free with secret_free. */
char *secret_read(enum secret_kind kind, const char *path, struct err *err);

/* 32 random bytes in hexadecimal. */
char *secret_random(void);

void secret_free(char *secret); /* wipes it first; NULL is fine */

/* Wipes what the environment holds of passwords and tokens, where it lies: /proc and core dumps show that.
 * Once it has been read, before there are threads. */
void secret_wipe_environment(void);

#endif
