/* Key templates: two requests have one key if and only if the template saw the same in both; and the names of
 * keys in Redis lead back to the client's text. Input: template, then lines with the values of the first and
 * the second request in turn. */
#include "fuzz.h"
#include "limit/key_template.h"
#include "limit/redis_key.h"

enum { VALUES = 4, TRACE_MAX = 1024 * 1024 };

struct facts {
    struct input values[VALUES]; /* empty: absent */
    struct buf trace;            /* what was looked up, and found */
};

static const char *look_up(const void *from, const char *name, size_t *len, bool *ambiguous) {
    struct facts *facts = (struct facts *)(uintptr_t)from;
    const struct input *value = &facts->values[(unsigned char)*name % VALUES];
    *ambiguous = false;
    *len = value->len;
    buf_addf(&facts->trace, "%s=%zu:", name, value->len);
    buf_add(&facts->trace, value->at, value->len);
    return value->len ? value->at : NULL;
}

static bool render(const struct key_template *tmpl, struct facts *facts, struct buf *key) {
    const struct request_facts request = {.ip = "2001:db8:0:1::/64",
                                          .method = "GET",
                                          .path = "/api/a b{c}",
                                          .prefix = "/api",
                                          .policy = "default",
                                          .query = look_up,
                                          .header = look_up,
                                          .from = facts};
    struct err err = ERR_INIT;
    facts->trace = (struct buf)BUF_INIT(TRACE_MAX);
    if (key_template_render(tmpl, &request, key, &err) == 0) return true;
    must(err.text[0] != '\0');
    return false;
}

static bool same(const struct buf *a, const struct buf *b) {
    return a->len == b->len && memcmp(buf_str(a), buf_str(b), a->len) == 0;
}

static void check_redis_key(const char *text, size_t len) {
    struct buf name = BUF_INIT(KEY_TEXT_MAX), back = BUF_INIT(KEY_TEXT_MAX);
    struct redis_key_parts parts;
    redis_key_add(&name, "rl:", "default", "daily", text, len);
    const char *tag = memchr(name.data, '{', name.len);
    must(tag && name.data[name.len - 1] == '}');
    for (const char *c = tag + 1; c < name.data + name.len - 1; c++)
        must(*c >= 0x20 && *c < 0x7f && *c != '{' && *c != '}');
    must(redis_key_read(name.data, name.len, "rl:", "default", &parts, &back));
    must(parts.limit_len == 5 && memcmp(parts.limit, "daily", 5) == 0);
    if (parts.hashed)
        must(len > KEY_ENCODED_MAX / 3);
    else
        must(back.len == len && memcmp(buf_str(&back), text, len) == 0);
    buf_free(&name);
    buf_free(&back);
}

static void check_pair(const struct key_template *tmpl, struct facts *one, struct facts *two) {
    struct buf first = BUF_INIT(KEY_TEXT_MAX), second = BUF_INIT(KEY_TEXT_MAX);
    bool both = render(tmpl, one, &first);
    if (both) check_redis_key(buf_str(&first), first.len);
    if (both) must(first.len > 0);
    both = render(tmpl, two, &second) && both;
    if (both) must(same(&first, &second) == same(&one->trace, &two->trace));
    buf_free(&first);
    buf_free(&second);
    buf_free(&one->trace);
    buf_free(&two->trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input rest = input_of(data, size);
    struct input text = input_cut(&rest, '\n');
    struct facts one = {.trace = BUF_INIT(TRACE_MAX)}, two = one;
    struct err err = ERR_INIT;
    struct redis_key_parts parts;
    struct buf key = BUF_INIT(KEY_TEXT_MAX);

    check_redis_key(rest.at, rest.len);
    redis_key_read(text.at, text.len, "rl:", "default", &parts, &key); /* any name may lie in Redis */
    buf_free(&key);
    struct key_template *tmpl = key_template_parse(text.at, text.len, &err);
    if (!tmpl) {
        must(err.text[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < VALUES; i++) {
        one.values[i] = input_cut(&rest, '\n');
        two.values[i] = input_cut(&rest, '\n');
    }
    check_pair(tmpl, &one, &two);
    key_template_free(tmpl);
    return 0;
}
