/* A configuration document and a change to it: whatever is accepted can be written and read again, and stays
 * the same. Input: document, NUL, change. */
#include "config/config.h"
#include "config/json_check.h"
#include "fuzz.h"

enum { JSON_MAX = 8 * 1024 * 1024 };

static const char START[] = "{\"policies\":{\"default\":{},\"slow\":{\"paths\":[\"/slow\"],\"algorithm\":"
                            "\"leaky_bucket\",\"on_limit\":\"delay\"}}}";

static void check_refusal(const struct config_refusal *why) {
    static const unsigned statuses[] = {400, 404, 409, 412, 422};
    bool known = false;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        known = known || why->status == statuses[i];
    must(known);
    must(why->err.text[0] != '\0');
}

static struct config *parse(const char *json, size_t len, struct config_refusal *why) {
    *why = (struct config_refusal){.err = ERR_INIT};
    struct config *config = config_parse(json, len, 1, why);
    if (!config) check_refusal(why);
    return config;
}

/* What it says of itself is valid, means the same, and changes nothing when it is put back. */
static void check_config(struct config *config) {
    struct config_refusal why;
    struct err err = ERR_INIT;
    struct buf shown = BUF_INIT(JSON_MAX);
    bool created = false;
    must(json_check(config->json, config->json_len, &err) == 0);
    struct config *again = parse(config->json, config->json_len, &why);
    must(again && again->json_len == config->json_len);
    must(memcmp(again->json, config->json, config->json_len) == 0);
    config_unref(again);

    config_json(config, &shown);
    const struct config_change put = {CONFIG_PUT, NULL, buf_str(&shown), shown.len, false};
    struct config *same = config_apply(config, &put, &created, &why);
    must(same == config && !created);
    config_unref(same);
    buf_free(&shown);
    must(config_policy(config, "default", 7));
}

static void change(struct config *config, enum config_verb verb, const char *policy, struct input body) {
    struct config_refusal why = {.err = ERR_INIT};
    bool created = false;
    const struct config_change wanted = {verb, policy, body.at, body.len, false};
    struct config *next = config_apply(config, &wanted, &created, &why);
    if (next)
        check_config(next);
    else
        check_refusal(&why);
    config_unref(next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input rest = input_of(data, size);
    struct input document = input_cut(&rest, '\0');
    struct config_refusal why;
    struct config *config = parse(document.at, document.len, &why);
    if (config) check_config(config);
    if (!config) config = parse(START, sizeof START - 1, &why);
    must(config);
    change(config, CONFIG_PATCH, NULL, rest);
    change(config, CONFIG_PATCH, "default", rest);
    change(config, CONFIG_PUT, "slow", rest);
    config_unref(config);
    return 0;
}
