/* Regular files, read whole. What is in them is others' business. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 16 * 1024 };

static int too_long(const struct buf *out, struct err *err) {
    return err_set(err, "must have at most %zu bytes", out->max);
}

static int read_all(int fd, struct buf *out, struct err *err) {
    char chunk[CHUNK];
    ssize_t got;
    int result = 0;
    while (result == 0 && (got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            result = err_set(err, "cannot be read: %s", strerror(errno));
        } else {
            buf_add(out, chunk, (size_t)got);
            if (out->overflow) result = too_long(out, err);
        }
    }
    explicit_bzero(chunk, sizeof chunk); /* it may have been a key */
    return result;
}

/* The opening alone of a pipe waits for a writer, so that it is opened without waiting and then looked at. */
int file_read(const char *path, struct buf *out, struct err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat is;
    int result;
    if (fd < 0) return err_set(err, "cannot be read: %s", strerror(errno));
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode)) {
        result = err_set(err, "must be a regular file");
    } else if ((size_t)is.st_size > out->max) {
        result = too_long(out, err);
    } else {
        buf_expect(out, (size_t)is.st_size); /* at once, so that growing leaves no copies of a key behind */
        result = read_all(fd, out, err);
    }
    close(fd);
    return result;
}
