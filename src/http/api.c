/* The demonstration resource behind the policies: ANY /api and below.
 *
 * Path and method choose the policy, the policy's template the key. A request body is not looked at. */
#include "base/buf.h"
#include "http/decide.h"
#include "http/handlers.h"
#include "http/subject.h"
#include "limit/key_template.h"

void api_handle(struct request *request) {
    const struct subject subject = {request, request->method, request->method_name, &request->uri};
    const char *prefix = "";
    const struct policy *policy = subject_policy(&subject, &prefix);
    struct buf key = BUF_INIT(KEY_TEXT_MAX);
    struct err err = ERR_INIT;

    if (!policy) {
        respond_problem(request, 404, NULL, "No policy covers %s %s.", request->method_name,
                        request->uri.path);
        return;
    }
    if (subject_key(&subject, policy, prefix, &key, &err) != 0)
        respond_problem(request, 400, NULL, "This request gives policy %s no key: %s", policy->name,
                        err.text);
    else
        decide_request(request, policy, buf_str(&key), key.len, policy->cost, DECISION_FORM_PLAIN);
    buf_free(&key);
}
