/* What the fuzzers share: the entry point that libFuzzer calls, a check that ends the run, and cutting the
 * input up. */
#ifndef RL_TESTS_FUZZ_H
#define RL_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* The input, from which pieces are cut off the front. */
struct input {
    const char *at;
    size_t len;
};

static inline struct input input_of(const uint8_t *data, size_t size) {
    return (struct input){size ? (const char *)data : "", size};
}

/* What stands before the next `mark`, which goes as well; all of it if there is none. */
static inline struct input input_cut(struct input *rest, char mark) {
    const char *end = rest->len ? memchr(rest->at, mark, rest->len) : NULL;
    struct input piece = {rest->at, end ? (size_t)(end - rest->at) : rest->len};
    size_t gone = piece.len + (end ? 1 : 0);
    rest->at += gone;
    rest->len -= gone;
    return piece;
}

/* 0 if there is nothing left. */
static inline unsigned input_byte(struct input *rest) {
    if (rest->len == 0) return 0;
    rest->len--;
    return (unsigned char)*rest->at++;
}

/* A copy of its exact size with a NUL behind, so that a look beyond the end is noticed. Free it. */
static inline char *input_text(struct input piece) {
    char *text = malloc(piece.len + 1);
    must(text);
    if (piece.len > 0) memcpy(text, piece.at, piece.len);
    text[piece.len] = '\0';
    return text;
}

#endif
