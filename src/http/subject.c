/* From a request to its policy and key. Decides nothing and answers nobody. */
#include "http/subject.h"

#include <string.h>

#include "limit/key_template.h"

/* A field given twice has no one value: which of the two would be limited? */
static const char *query_fact(const void *from, const char *name, size_t *len, bool *ambiguous) {
    const struct subject *subject = from;
    size_t count;
    const struct uri_param *param = uri_param(subject->uri, name, &count);

    if (count > 1) *ambiguous = true;
    if (!param || count > 1) return NULL;
    *len = param->value_len;
    return param->value ? param->value : "";
}

static const char *header_fact(const void *from, const char *name, size_t *len, bool *ambiguous) {
    const struct subject *subject = from;
    const char *value = request_header(subject->request, name);

    if (!value) return NULL;
    if (request_header_count(subject->request, name) > 1) {
        *ambiguous = true;
        return NULL;
    }
    *len = strlen(value);
    return value;
}

const struct policy *subject_policy(const struct subject *subject, const char **prefix) {
    return config_match(subject->request->config, subject->uri->path, subject->method, prefix);
}

int subject_key(const struct subject *subject, const struct policy *policy, const char *prefix,
                struct buf *key, struct err *err) {
    struct request_facts facts = {
        .ip = subject->request->client_ip,
        .method = subject->method_name,
        .path = subject->uri->path,
        .prefix = prefix,
        .policy = policy->name,
        .query = query_fact,
        .header = header_fact,
        .from = subject,
    };

    return key_template_render(policy->key, &facts, key, err);
}
