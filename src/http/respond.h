/* Answers in the house's forms: JSON and problem+json (RFC 9457). Decisions: respond_decision.c.
 *
 * Every answer carries the house's security headers; all but the page's files are Cache-Control: no-store. */
#ifndef RL_HTTP_RESPOND_H
#define RL_HTTP_RESPOND_H

#include "base/buf.h"
#include "http/http.h"
#include "limit/decision.h"
#include "limit/policy.h"

enum { RESPOND_BODY_MAX = 4 * 1024 * 1024 }; /* of any JSON we write; the configuration is the largest */

/* Adds what every answer carries, whatever it is. The functions below do so themselves. */
void respond_security_headers(struct request *request);

/* The same as a list, for answers that are written past microhttpd. */
struct respond_header {
    const char *name, *value;
};
extern const struct respond_header respond_fixed_headers[];
extern const size_t respond_fixed_header_count;

/* The body of a problem, as in respond_problem. */
void respond_problem_text(struct buf *body, unsigned status, const char *member, const char *detail);

/* application/json, no-store; takes the buffer's bytes. */
void respond_json(struct request *request, unsigned status, struct buf *body);

/* Any other media type, no-store; takes the buffer's bytes. */
void respond_text(struct request *request, unsigned status, const char *media_type, struct buf *body);

/* No body, no-store. */
void respond_empty(struct request *request, unsigned status);

/* problem+json: {"type":"about:blank","title":<the status's
 * words>,"status":N,"detail":"...","error":<detail>}. `member` (may be NULL) names the member or field at
 * fault. */
void respond_problem(struct request *request, unsigned status, const char *member, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* application/problem+json, no-store, with a body made elsewhere; takes the buffer's bytes. */
void respond_problem_body(struct request *request, unsigned status, struct buf *body);

/* What statuses a decision is told by. The body is the same. */
enum decision_form {
    DECISION_FORM_PLAIN,  /* 200, 429, 503 */
    DECISION_FORM_PEEK,   /* 200 whatever it says */
    DECISION_FORM_GATEWAY /* 200 or 403, since some gateways pass on nothing else */
};

/* A decision with its headers, as in docs/api.md. */
void respond_decision(struct request *request, const struct policy *policy, const char *key, size_t key_len,
                      const struct decision *decision, enum decision_form form);

/* The members of a decision's body, into an object that is open. */
struct json_out;
void respond_write_decision(struct json_out *json, const struct policy *policy, const char *key,
                            size_t key_len, const struct decision *decision);

/* Adds the rate limit headers of a decision to an answer of that status: Retry-After only if it is a refusal.
 */
void respond_rate_headers(struct request *request, const struct policy *policy,
                          const struct decision *decision, unsigned status);

/* The log's lines for what an administrator did or tried: "refused PATCH /admin/config from 192.0.2.7: ...".
 */
void respond_log_refused(const struct request *request, const char *why);
void respond_log_changed(const struct request *request, uint64_t version);

const char *respond_status_words(unsigned status); /* "Not Found" */

#endif
