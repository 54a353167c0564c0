/* Files with policies. What is valid is config's to say. */
#include "app/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

enum { CHUNK = 64 * 1024 };

static int read_all(int fd, struct buf *text, struct err *err) {
    char chunk[CHUNK];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return err_set(err, "cannot be read: %s", strerror(errno));
        buf_add(text, chunk, (size_t)got);
        if (text->overflow) return err_set(err, "must have at most %d bytes", DOCUMENT_MAX);
    }
    return 0;
}

/* It is read while the server serves, and must not wait for somebody to write into a pipe. */
static int read_file(const char *path, struct buf *text, struct err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat is;
    if (fd < 0) return err_set(err, "cannot be read: %s", strerror(errno));
    int result = fstat(fd, &is) == 0 && S_ISREG(is.st_mode) ? read_all(fd, text, err)
                                                            : err_set(err, "must be a regular file");
    close(fd);
    return result;
}

static struct config *parse(const struct buf *text, uint64_t version, struct err *err) {
    struct config_refusal why = {.err = ERR_INIT};
    struct config *config = config_parse(buf_str(text), text->len, version, &why);
    if (!config) err_set(err, "%s%s%s", why.member, *why.member ? ": " : "", why.err.text);
    return config;
}

struct config *document_load(const char *path, uint64_t version, struct err *err) {
    struct buf text = BUF_INIT(DOCUMENT_MAX);
    struct config *config = read_file(path, &text, err) == 0 ? parse(&text, version, err) : NULL;
    buf_free(&text);
    return config;
}

char *document_read(const char *path, struct err *err) {
    struct buf text = BUF_INIT(DOCUMENT_MAX);
    struct config *config = read_file(path, &text, err) == 0 ? parse(&text, 1, err) : NULL;
    char *result = config ? buf_take(&text) : NULL;
    config_unref(config);
    buf_free(&text);
    return result;
}
