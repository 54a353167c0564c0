/* Passwords and tokens. Compares none: that is the guard's part. */
#include "app/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/count.h"

enum {
    READ_MAX = SECRET_PASSWORD_MAX + 3, /* a line end, and a byte more to notice what is too long */
    RANDOM_BYTES = 32
};

static const struct rule {
    size_t max;
    unsigned char lowest, highest; /* bytes allowed, DEL never */
    const char *too_long, *bad_byte;
} rules[] = {
    [SECRET_TOKEN] = {SECRET_TOKEN_MAX, '!', '~', "must be at most 512 characters long",
                      "must be printable ASCII without spaces"},
    [SECRET_PASSWORD] = {SECRET_PASSWORD_MAX, ' ', 0xff, "must be at most 1024 bytes long",
                         "must hold no control characters"},
};

const char *secret_fault(enum secret_kind kind, const char *text, size_t len) {
    const struct rule *rule = &rules[kind];
    if (len == 0) return "must not be empty";
    if (len > rule->max) return rule->too_long;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < rule->lowest || byte > rule->highest || byte == 0x7f) return rule->bad_byte;
    }
    return NULL;
}

/* A page in length, and all of them alike, so that the text alone tells what is to be unmapped. */
enum { KEPT_BYTES = 4096 };
_Static_assert((int)KEPT_BYTES > (int)SECRET_PASSWORD_MAX && (int)KEPT_BYTES > (int)SECRET_TOKEN_MAX,
               "room for a NUL");

char *secret_keep(const char *text, size_t len) {
    /* cppcheck-suppress invalidFunctionArg ; -1 is no file, as it must be here */
    char *page = mmap(NULL, KEPT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) abort(); /* as xmalloc does */
    madvise(page, KEPT_BYTES, MADV_DONTDUMP);
    madvise(page, KEPT_BYTES, MADV_WIPEONFORK);
    mlock(page, KEPT_BYTES); /* out of swap, too, where that is allowed */
    memcpy(page, text, len);
    return page;
}

static bool read_all(int fd, char *out, size_t max, size_t *len) {
    *len = 0;
    while (*len < max) {
        ssize_t got = read(fd, out + *len, max - *len);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) break;
        *len += (size_t)got;
    }
    return true;
}

/* It may be a pipe (a shell's <(command)), and waiting for its writer is right: this is the start, nobody is
 * served yet, signals end the process, and no reload comes here. */
char *secret_read(enum secret_kind kind, const char *path, struct err *err) {
    char text[READ_MAX];
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && read_all(fd, text, sizeof text, &len);
    int reason = errno;
    if (fd >= 0) close(fd);
    if (!ok) {
        err_set(err, "cannot be read: %s", strerror(reason));
        return NULL;
    }
    if (len > 0 && text[len - 1] == '\n') len--;
    if (len > 0 && text[len - 1] == '\r') len--;
    const char *fault = secret_fault(kind, text, len);
    char *secret = fault ? NULL : secret_keep(text, len);
    if (fault) err_set(err, "its content %s", fault);
    explicit_bzero(text, sizeof text);
    return secret;
}

char *secret_random(void) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[RANDOM_BYTES];
    char text[2 * RANDOM_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) abort(); /* cannot be, of so few */
    for (size_t i = 0; i < sizeof bytes; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    char *secret = secret_keep(text, sizeof text);
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(text, sizeof text);
    return secret;
}

void secret_free(char *secret) {
    if (!secret) return;
    explicit_bzero(secret, KEPT_BYTES);
    munmap(secret, KEPT_BYTES);
}

void secret_wipe_environment(void) {
    static const char *const names[] = {"RATELIMITD_ADMIN_TOKEN", "RATELIMITD_CHECK_TOKEN", "REDIS_PASSWORD",
                                        "REDIS_URL"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char *value = getenv(names[i]);
        if (value) explicit_bzero(value, strlen(value));
    }
}
