/* How the values of options are read and judged, one function a kind. Knows no names of options and no
 * precedence. */
#include <arpa/inet.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/document.h"
#include "app/options_table.h"
#include "app/secret.h"
#include "base/decimal.h"
#include "base/xmalloc.h"

enum { HOST_NAME_MAX_LEN = 253, QUOTE_SHOWN_MAX = 100, ALLOWED_MAX = 160 };

static void *field(const struct option *option, struct options *options) {
    return (char *)options + option->field;
}

static int keep_text(const struct option *option, const char *text, struct options *options) {
    char **place = field(option, options);
    free(*place);
    *place = xstrdup(text);
    return 0;
}

const char *option_quote(const char *text, char out[OPTION_QUOTE_MAX]) {
    size_t len = 0;
    for (; text[len] && len < QUOTE_SHOWN_MAX; len++)
        out[len] = (unsigned char)text[len] < ' ' || text[len] == 0x7f ? '?' : text[len];
    const char *end = text[len] ? "..." : "";
    memcpy(out + len, end, strlen(end) + 1);
    return out;
}

static int refuse(struct err *err, const char *allowed, const char *text) {
    char quoted[OPTION_QUOTE_MAX];
    return err_set(err, "must be %s; got \"%s\"", allowed, option_quote(text, quoted));
}

/* Decimal digits alone: no sign, no space, no zero in front that somebody might take for octal. */
static bool read_digits(const char *text, int max, int *value) {
    size_t len = strspn(text, "0123456789");
    if (len == 0 || text[len] || len > 9 || (len > 1 && text[0] == '0')) return false;
    *value = atoi(text);
    return *value <= max;
}

int option_set_int(const struct option *option, const char *text, struct options *options, struct err *err) {
    int value;
    if (read_digits(text, option->max, &value) && value >= option->min) {
        *(int *)field(option, options) = value;
        return 0;
    }
    char allowed[ALLOWED_MAX];
    snprintf(allowed, sizeof allowed, "a whole number from %d to %d", option->min, option->max);
    return refuse(err, allowed, text);
}

int option_set_flag(const struct option *option, const char *text, struct options *options, struct err *err) {
    static const char *const words[] = {"0",  "1",   "off",   "on",
                                        "no", "yes", "false", "true"}; /* no and yes in turn */
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) != 0) continue;
        *(bool *)field(option, options) = i % 2 == 1;
        return 0;
    }
    return refuse(err, "1, true, yes or on, or 0, false, no or off", text);
}

static int choose(const struct option *option, const char *text, int *value, struct err *err) {
    for (const struct option_word *word = option->words; word->text; word++) {
        if (strcmp(text, word->text) != 0) continue;
        *value = word->value;
        return 0;
    }
    char allowed[ALLOWED_MAX];
    option_words(option, allowed, sizeof allowed);
    return refuse(err, allowed, text);
}

int option_set_choice(const struct option *option, const char *text, struct options *options,
                      struct err *err) {
    return choose(option, text, field(option, options), err); /* an enum is stored as an int */
}

int option_set_bool_choice(const struct option *option, const char *text, struct options *options,
                           struct err *err) {
    int value = 0;
    if (choose(option, text, &value, err)) return -1;
    *(bool *)field(option, options) = value != 0;
    return 0;
}

int option_set_algorithm(const struct option *option, const char *text, struct options *options,
                         struct err *err) {
    int value = 0;
    if (choose(option, text, &value, err)) return -1;
    limit_settings_default(&options->limit, algorithms[value]);
    return 0;
}

/* It would do nothing, and whoever gave it thinks it does. */
static int refuse_param(const struct algorithm *algorithm, struct err *err) {
    char words[ALLOWED_MAX], name[OPTION_NAME_MAX];
    size_t used = 0;
    words[0] = '\0';
    for (size_t i = 0; i < algorithm->param_count && used < sizeof words; i++) {
        option_param_name(&algorithm->params[i], name);
        used += (size_t)snprintf(words + used, sizeof words - used, "%s--%s", i ? ", " : "", name);
    }
    return err_set(err, "is no parameter of algorithm %s, which has %s", algorithm->name, words);
}

int option_set_param(const struct option *option, const char *text, struct options *options,
                     struct err *err) {
    const struct algorithm *algorithm = options->limit.algorithm;
    int index = algorithm_param(algorithm, option->param->name);
    int64_t value;
    if (index < 0) return refuse_param(algorithm, err);
    const struct param *param = &algorithm->params[index];
    if (decimal_parse(text, strlen(text), &value) == DECIMAL_OK && value >= param->min &&
        value <= param->max && (!param->whole || value % MICRO == 0)) {
        options->limit.params[index] = value;
        return 0;
    }
    char allowed[ALLOWED_MAX];
    param_allowed(param, allowed, sizeof allowed);
    return refuse(err, allowed, text);
}

static bool is_address(const char *text) {
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

int option_set_listen_host(const struct option *option, const char *text, struct options *options,
                           struct err *err) {
    if (is_address(text) || strcmp(text, "localhost") == 0) return keep_text(option, text, options);
    return refuse(err, "a numeric IPv4 or IPv6 address, or localhost", text);
}

/* What has a colon must be IPv6: "redis:6379" would otherwise be looked up as a name for ever. */
static bool is_host(const char *text) {
    size_t len = strlen(text);
    if (len == 0 || len > HOST_NAME_MAX_LEN) return false;
    if (strchr(text, ':')) return is_address(text);
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    return strspn(text, allowed) == len && text[0] != '-' && text[0] != '.';
}

int option_set_redis_host(const struct option *option, const char *text, struct options *options,
                          struct err *err) {
    if (is_host(text)) return keep_text(option, text, options);
    return refuse(err, "a host name or an address, without a port", text);
}

static bool has_control(const char *text) {
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) return true;
    }
    return false;
}

int option_set_text(const struct option *option, const char *text, struct options *options, struct err *err) {
    size_t len = strlen(text);
    if (len >= (size_t)option->min && len <= (size_t)option->max && !has_control(text))
        return keep_text(option, text, options);
    char allowed[ALLOWED_MAX];
    snprintf(allowed, sizeof allowed, "%d to %d bytes long, without control characters", option->min,
             option->max);
    return refuse(err, allowed, text);
}

/* Braces would move the hash tag of a key, '%' is the mark of an encoding in it. */
int option_set_prefix(const struct option *option, const char *text, struct options *options,
                      struct err *err) {
    size_t len = strlen(text);
    bool fits = len >= (size_t)option->min && len <= (size_t)option->max;
    for (size_t i = 0; fits && i < len; i++)
        fits = text[i] > ' ' && text[i] < 0x7f && !strchr("{}%", text[i]);
    if (fits) return keep_text(option, text, options);
    char allowed[ALLOWED_MAX];
    snprintf(allowed, sizeof allowed, "%d to %d printable ASCII characters without spaces, '{', '}' and '%%'",
             option->min, option->max);
    return refuse(err, allowed, text);
}

int option_set_directory(const struct option *option, const char *text, struct options *options,
                         struct err *err) {
    struct stat found;
    if (stat(text, &found) == 0 && S_ISDIR(found.st_mode) && access(text, R_OK | X_OK) == 0)
        return keep_text(option, text, options);
    return refuse(err, "a directory that can be read", text);
}

int option_set_blocks(const struct option *option, const char *text, struct options *options,
                      struct err *err) {
    struct ip_block block;
    if (ip_block_parse(text, strlen(text), &block)) {
        ip_blocks_add(field(option, options), &block);
        return 0;
    }
    return refuse(err,
                  "a numeric address, or a block with no bits set behind its prefix, such as 10.0.0.0/8 or "
                  "2001:db8::/32",
                  text);
}

static int keep_secret(const struct option *option, enum secret_kind kind, const char *path,
                       struct options *options, struct err *err) {
    char quoted[OPTION_QUOTE_MAX];
    struct err why = ERR_INIT;
    char *secret = secret_read(kind, path, &why);
    if (!secret) return err_set(err, "\"%s\": %s", option_quote(path, quoted), why.text);
    char **place = field(option, options);
    secret_free(*place);
    *place = secret;
    return 0;
}

int option_set_token_file(const struct option *option, const char *text, struct options *options,
                          struct err *err) {
    return keep_secret(option, SECRET_TOKEN, text, options, err);
}

int option_set_password_file(const struct option *option, const char *text, struct options *options,
                             struct err *err) {
    return keep_secret(option, SECRET_PASSWORD, text, options, err);
}

/* Its text is kept, since a pipe can be read only once. */
int option_set_document(const struct option *option, const char *text, struct options *options,
                        struct err *err) {
    char quoted[OPTION_QUOTE_MAX];
    struct err why = ERR_INIT;
    char *document = document_read(text, &why);
    if (!document) return err_set(err, "\"%s\": %.400s", option_quote(text, quoted), why.text);
    free(options->document);
    options->document = document;
    return keep_text(option, text, options);
}

int option_set_origins(const struct option *option, const char *text, struct options *options,
                       struct err *err) {
    if (cors_origin_valid(text)) {
        cors_origins_add(field(option, options), text);
        return 0;
    }
    return refuse(
        err, "an origin such as https://app.example or http://localhost:3000 (small letters, no path), or *",
        text);
}
