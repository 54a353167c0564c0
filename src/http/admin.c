/* /admin: the configuration read and changed while the server runs.
 *
 * Checks no setting and holds no version: config does. Who may call is guard.c's to say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "http/fields.h"
#include "http/handlers.h"
#include "http/respond.h"
#include "http/services.h"

enum { ETAG_MAX = 32 };
static const char POLICIES[] = "/admin/policies/";

static const struct {
    enum http_method method;
    enum config_verb verb;
} verbs[] = {{HTTP_PUT, CONFIG_PUT}, {HTTP_PATCH, CONFIG_PATCH}, {HTTP_DELETE, CONFIG_DELETE}};

static void etag_text(uint64_t version, char out[ETAG_MAX]) {
    snprintf(out, ETAG_MAX, "\"%" PRIu64 "\"", version);
}

static void add_etag(struct request *request, const struct config *config) {
    char etag[ETAG_MAX];

    etag_text(config->version, etag);
    request_reply_header(request, "ETag", etag);
}

/* The policy's name in the path; NULL for the whole document. */
static const char *policy_name(const struct request *request) {
    size_t len = sizeof POLICIES - 1;

    return strncmp(request->uri.path, POLICIES, len) == 0 ? request->uri.path + len : NULL;
}

static void respond_unknown(struct request *request, const char *name) {
    respond_problem(request, 404, NULL, "There is no policy %.64s.", name);
}

/* Answers with the policy, or with the document if `name` is NULL. */
static void respond_config(struct request *request, unsigned status, const struct config *config,
                           const char *name) {
    struct buf body = BUF_INIT(RESPOND_BODY_MAX);

    if (name) {
        const struct policy *policy = config_policy(config, name, strlen(name));
        if (!policy) {
            respond_unknown(request, name);
            return;
        }
        config_policy_json(config, policy, &body);
    } else {
        config_json(config, &body);
    }
    add_etag(request, config);
    respond_json(request, status, &body);
}

static bool is_gone(const struct config *config, const char *name) {
    return name && !config_policy(config, name, strlen(name));
}

static void on_changed(void *arg, struct config *config, bool created, const struct config_refusal *why) {
    struct request *request = arg;
    const char *name = policy_name(request);

    if (!config) {
        respond_log_refused(request, why->err.text);
        respond_problem(request, why->status, why->member, "%s", why->err.text);
        return;
    }
    respond_log_changed(request, config->version);
    if (request->method == HTTP_DELETE && is_gone(config, name)) {
        add_etag(request, config);
        respond_empty(request, 204);
        return;
    }
    if (created) request_reply_header(request, "Location", request->uri.path);
    respond_config(request, created ? 201 : 200, config, name);
}

/* Is it one tag of ours? It may be of a version that another instance made and this one has yet to see. */
static bool tag_version(const char *text, uint64_t *version) {
    size_t len = strlen(text);
    int64_t value;

    if (len < 3 || text[0] != '"' || text[1] == '0' || text[len - 1] != '"' ||
        !field_whole(text + 1, len - 2, &value) || value < 1)
        return false;
    *version = (uint64_t)value;
    return true;
}

/* Reads If-Match against the newest version. False if it has been answered. */
static bool read_if_match(struct request *request, uint64_t *if_match) {
    const char *text = request_header(request, "If-Match");
    char etag[ETAG_MAX];

    *if_match = CONFIG_ANY_VERSION;
    if (!text) return true;
    struct config *current = config_store_current(request->services->store);
    uint64_t version = current->version;
    config_unref(current);
    etag_text(version, etag);
    enum field_match match =
        request_header_count(request, "If-Match") == 1 ? field_tags(text, etag, true) : FIELD_MATCH_BAD;
    if (match == FIELD_MATCH_YES) *if_match = version;
    if (match == FIELD_MATCH_NO && tag_version(text, if_match)) return true;
    if (match == FIELD_MATCH_BAD)
        respond_problem(request, 400, "If-Match",
                        "If-Match must be the ETag that was read, such as %s, or *.", etag);
    if (match == FIELD_MATCH_NO)
        respond_problem(request, 412, "If-Match",
                        "If-Match names none of the versions in force: now it is \"%" PRIu64 "\".", version);
    return match == FIELD_MATCH_YES || match == FIELD_MATCH_ANY;
}

/* Reads If-None-Match: `*` is for the moment of the change, tags are compared with the newest version. False
 * if it has been answered. */
static bool read_if_none_match(struct request *request, bool *absent) {
    const char *text = request_header(request, "If-None-Match");
    char etag[ETAG_MAX];

    if (!text) return true;
    struct config *current = config_store_current(request->services->store);
    etag_text(current->version, etag);
    config_unref(current);
    enum field_match match =
        request_header_count(request, "If-None-Match") == 1 ? field_tags(text, etag, false) : FIELD_MATCH_BAD;
    *absent = match == FIELD_MATCH_ANY;
    if (match == FIELD_MATCH_NO || (*absent && policy_name(request))) return true;
    if (match == FIELD_MATCH_BAD)
        respond_problem(request, 400, "If-None-Match", "If-None-Match must be * or an ETag, such as %s.",
                        etag);
    else
        respond_problem(request, 412, "If-None-Match", "If-None-Match rules out what is in force: %s.", etag);
    return false;
}

static enum config_verb verb_of(const struct request *request) {
    size_t i = 0;

    while (verbs[i].method != request->method)
        i++; /* the route lets no other method through */
    return verbs[i].verb;
}

static void change(struct request *request) {
    struct config_change change = {
        .verb = verb_of(request),
        .policy = policy_name(request),
        .body = buf_str(&request->body),
        .body_len = request->body.len,
    };
    uint64_t if_match;

    if (!read_if_match(request, &if_match) || !read_if_none_match(request, &change.absent)) return;
    config_store_change(request->services->store, &change, if_match, on_changed, request);
}

static bool is_read(const struct request *request) {
    return request->method == HTTP_GET || request->method == HTTP_HEAD;
}

void admin_config(struct request *request) {
    if (is_read(request))
        respond_config(request, 200, request->config, NULL);
    else
        change(request);
}

void admin_policy(struct request *request) {
    const char *name = policy_name(request);

    if (!name || strchr(name, '/'))
        respond_unknown(request, name ? name : "without a name");
    else if (is_read(request))
        respond_config(request, 200, request->config, name);
    else
        change(request);
}
