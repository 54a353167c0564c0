/* Header fields, numbers, and text on its way into JSON. Input: any text. */
#include "base/decimal.h"
#include "base/json_out.h"
#include "base/percent.h"
#include "config/json_check.h"
#include "fuzz.h"
#include "http/fields.h"

static void check_host(const char *text) {
    struct field_host host;
    char origin[4096];
    if (!field_host_read(text, &host)) return;
    size_t len = strlen(text);
    must(host.len > 0 && host.name >= text && host.name + host.len <= text + len);
    must(host.port <= 65535);
    if (snprintf(origin, sizeof origin, "https://%s", text) >= (int)sizeof origin) return;
    must(field_origin_same(origin, &host));
    host.port = host.port == 8080 ? 8081 : 8080;
    must(!field_origin_same(origin, &host));
}

static void check_tags(const char *text) {
    enum field_match strong = field_tags(text, "\"1\"", true), weak = field_tags(text, "\"1\"", false);
    must((strong == FIELD_MATCH_BAD) == (weak == FIELD_MATCH_BAD));
    must((strong == FIELD_MATCH_ANY) == (weak == FIELD_MATCH_ANY));
    if (strong == FIELD_MATCH_YES) must(weak == FIELD_MATCH_YES);
    if (strong == FIELD_MATCH_YES) must(strstr(text, "\"1\""));
}

static void check_numbers(const char *text, size_t len) {
    int64_t value, again;
    char shown[DECIMAL_TEXT_MAX];
    if (field_whole(text, len, &value)) {
        must(value >= 0);
        snprintf(shown, sizeof shown, "%lld", (long long)value);
        must(field_whole(shown, strlen(shown), &again) && again == value);
    }
    if (decimal_parse(text, len, &value) == DECIMAL_OK) {
        size_t shown_len = decimal_format(value, shown);
        must(shown_len == strlen(shown));
        must(decimal_parse(shown, shown_len, &again) == DECIMAL_OK && again == value);
    }
}

static void check_json(const char *text, size_t len) {
    struct buf out = BUF_INIT(16 * 1024 * 1024);
    struct json_out json;
    struct err err = ERR_INIT;
    json_begin(&json, &out);
    json_object(&json, NULL);
    json_strn(&json, "key", text, len);
    json_end(&json);
    must(!memchr(text, '<', len) || !memchr(out.data, '<', out.len));
    if (!memchr(text, '\0', len)) must(json_check(out.data, out.len, &err) == 0);
    for (size_t i = 0; i < out.len; i++)
        must((unsigned char)out.data[i] >= 0x20 && out.data[i] != 0x7f);
    buf_free(&out);
    if (json_check(text, len, &err) != 0) must(err.text[0] != '\0');
}

static void check_percent(const char *text, size_t len) {
    char *out = malloc(len + 1);
    size_t out_len = 0;
    must(out);
    const char *bad = percent_decode(text, len, PERCENT_PLUS_IS_SPACE, out, &out_len);
    if (bad)
        must(bad >= text && bad < text + len && *bad == '%');
    else
        must(out_len <= len);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input whole = input_of(data, size);
    char *text = input_text(whole);
    check_host(text);
    check_tags(text);
    const char *token = field_bearer(text);
    if (token) must(token > text && token <= text + strlen(text));
    if (field_media_is(text, "application/json")) must(!field_media_is(text, "text/plain"));
    check_numbers(whole.at, whole.len);
    check_json(text, whole.len);
    check_percent(whole.at, whole.len);
    free(text);
    return 0;
}
