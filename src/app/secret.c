/* Passwords and tokens. Compares none: that is the guard's part. */
#include "app/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/xmalloc.h"

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
    char *secret = fault ? NULL : xstrndup(text, len);
    if (fault) err_set(err, "its content %s", fault);
    explicit_bzero(text, sizeof text);
    return secret;
}

char *secret_random(void) {
    unsigned char bytes[RANDOM_BYTES];
    struct buf text = BUF_INIT(SECRET_TOKEN_MAX);
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) abort(); /* cannot be, of so few */
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_addf(&text, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof bytes);
    return buf_take(&text);
}

void secret_free(char *secret) {
    if (!secret) return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}
