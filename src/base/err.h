/* Error text for a caller: the words that end up in front of a person.
 *
 * A function that can fail takes a `struct err *`, appends to it and returns -1 (or NULL).
 * On success the text is left untouched. Not a log: nothing is printed here. */
#ifndef RL_BASE_ERR_H
#define RL_BASE_ERR_H

enum { ERR_TEXT_MAX = 512 };

struct err {
    char text[ERR_TEXT_MAX]; /* NUL-terminated; longer text is cut, never overrun */
};

#define ERR_INIT                                                                                             \
    {                                                                                                        \
        { 0 }                                                                                                \
    }

/* Replaces the text. Returns -1, so that `return err_set(err, ...)` reads well. `err` may be NULL. */
int err_set(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "<words>: " in front of what is there, as context on the way up. Returns -1. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
