/* Query parameters by a list of names. Judges no values. */
#include "http/query.h"

#include <string.h>

#include "http/respond.h"

static size_t index_of(const struct uri_param *param, const char *const *names, size_t count) {
    size_t i = 0;

    while (i < count &&
           (strlen(names[i]) != param->name_len || memcmp(names[i], param->name, param->name_len) != 0))
        i++;
    return i;
}

static void refuse_unknown(struct request *request, const char *name, const char *const *names,
                           size_t count) {
    struct buf words = BUF_INIT(RESPOND_BODY_MAX);

    for (size_t i = 0; i < count; i++)
        buf_addf(&words, "%s%s", i ? ", " : "", names[i]);
    respond_problem(request, 400, name, "%.64s is no parameter of %s: %s.", name, request->uri.path,
                    buf_str(&words));
    buf_free(&words);
}

bool query_read(struct request *request, const char *const *names, size_t count,
                const struct uri_param **fields) {
    for (size_t i = 0; i < count; i++)
        fields[i] = NULL;
    for (size_t i = 0; i < request->uri.param_count; i++) {
        const struct uri_param *param = &request->uri.params[i];
        size_t field = index_of(param, names, count);
        if (field == count) {
            refuse_unknown(request, param->name, names, count);
            return false;
        }
        if (fields[field]) {
            respond_problem(request, 400, names[field], "%s is given twice; give it once.", names[field]);
            return false;
        }
        fields[field] = param;
    }
    return true;
}
