/* Files with policies. What is valid is config's to say. */
#include "app/document.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/file.h"

static struct config *parse(const struct buf *text, uint64_t version, struct err *err) {
    struct config_refusal why = {.err = ERR_INIT};
    struct config *config = config_parse(buf_str(text), text->len, version, &why);
    if (!config) err_set(err, "%s%s%s", why.member, *why.member ? ": " : "", why.err.text);
    return config;
}

struct config *document_load(const char *path, uint64_t version, struct err *err) {
    struct buf text = BUF_INIT(DOCUMENT_MAX);
    struct config *config = file_read(path, &text, err) == 0 ? parse(&text, version, err) : NULL;
    buf_free(&text);
    return config;
}

char *document_read(const char *path, struct err *err) {
    struct buf text = BUF_INIT(DOCUMENT_MAX);
    struct config *config = file_read(path, &text, err) == 0 ? parse(&text, 1, err) : NULL;
    char *result = config ? buf_take(&text) : NULL;
    config_unref(config);
    buf_free(&text);
    return result;
}
