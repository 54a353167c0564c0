/* Names of the page's clients. Decides nothing. */
#include "http/client_id.h"

#include <string.h>

#include "limit/key_template.h"

static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

int client_id_check(const char *id, const char *member, struct err *err) {
    size_t len = strlen(id);

    if (len >= 1 && len <= CLIENT_ID_MAX && strspn(id, allowed) == len) return 0;
    return err_set(err, "%s must be 1 to %d letters, digits, dots, underscores or dashes; got \"%.80s\"",
                   member, CLIENT_ID_MAX, id);
}

static const char *query_fact(const void *from, const char *name, size_t *len, bool *ambiguous) {
    (void)ambiguous;
    if (strcmp(name, "user") != 0) return NULL;
    *len = strlen(from);
    return from;
}

static const char *header_fact(const void *from, const char *name, size_t *len, bool *ambiguous) {
    (void)from, (void)name, (void)len, (void)ambiguous;
    return NULL;
}

int client_id_key(const struct request *request, const struct policy *policy, const char *id, struct buf *key,
                  struct err *err) {
    const char *path = policy->path_count ? policy->paths[0] : "";
    const struct request_facts facts = {
        .ip = request->client_ip,
        .method = "GET",
        .path = path,
        .prefix = path,
        .policy = policy->name,
        .query = query_fact,
        .header = header_fact,
        .from = id,
    };

    return key_template_render(policy->key, &facts, key, err);
}
