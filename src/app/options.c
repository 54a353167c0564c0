/* The command line and its environment: who gave what, and which of it counts. How a value is read is in
 * options_set.c, which options there are in options_table.c, what Redis adds in options_redis.c. */
#include "app/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/options_parse.h"
#include "app/secret.h"
#include "base/count.h"
#include "base/json_out.h"
#include "base/xmalloc.h"

enum { THREADS_MAX = 256 };

struct option_given *options_given(struct options_parse *parse, const char *name) {
    return &parse->given[option_table_find(&parse->table, name, strlen(name))];
}

const char *options_label(struct options_parse *parse, const char *name, char out[OPTION_LABEL_MAX]) {
    int row = option_table_find(&parse->table, name, strlen(name));
    if (parse->given[row].origin == ORIGIN_ENVIRONMENT) {
        option_variable(&parse->table.rows[row], out);
    } else {
        snprintf(out, OPTION_LABEL_MAX, "--%s", name);
    }
    return out;
}

const char *options_variable(const struct options_parse *parse, const char *name) {
    size_t len = strlen(name);
    for (char *const *entry = parse->env; *entry; entry++) {
        if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=') return *entry + len + 1;
    }
    return NULL;
}

/* The value of an option: behind '=', or the next argument unless that is an option; a flag needs none. */
static int take_value(struct options_parse *parse, const struct option *option, const char *inlined,
                      char *const **next, const char **value) {
    *value = inlined ? inlined : "on";
    if (inlined || !option->argument) return 0;
    if (!**next || strncmp(**next, "--", 2) == 0) {
        return err_set(parse->err, "--%s needs a value, --%s %s: %s", option->name, option->name,
                       option->argument, option->summary);
    }
    *value = *(*next)++;
    return 0;
}

/* A further value of a list is put behind those before, as it would be written in the environment. */
static void keep_argument(struct option_given *given, const char *value) {
    struct buf joined = BUF_INIT(SIZE_MAX);
    if (given->text) {
        buf_addf(&joined, "%s,%s", given->text, value);
        free(given->joined);
        given->text = given->joined = buf_take(&joined);
    } else {
        given->text = value;
    }
    given->origin = ORIGIN_ARGUMENT;
}

static enum options_result take_argument(struct options_parse *parse, char *const **next) {
    char quoted[OPTION_QUOTE_MAX];
    const char *argument = *(*next)++;
    size_t len = strncmp(argument, "--", 2) == 0 ? strcspn(argument + 2, "=") : 0;
    if (len == 0) {
        err_set(parse->err, "unexpected argument \"%s\"; options are --name VALUE, see --help",
                option_quote(argument, quoted));
        return OPTIONS_BAD;
    }
    int row = option_table_find(&parse->table, argument + 2, len);
    const char *inlined = argument[2 + len] ? argument + 2 + len + 1 : NULL;
    if (row < 0) {
        err_set(parse->err, "unknown option \"%s\"; see --help for those there are",
                option_quote(argument, quoted));
        return OPTIONS_BAD;
    }
    const struct option *option = &parse->table.rows[row];
    if (!option->set && inlined) {
        err_set(parse->err, "--%s takes no value; got \"%s\"", option->name, option_quote(inlined, quoted));
        return OPTIONS_BAD;
    }
    if (!option->set) return strcmp(option->name, "help") == 0 ? OPTIONS_HELP : OPTIONS_VERSION;
    if (parse->given[row].text && !option->list) {
        err_set(parse->err, "--%s is given twice", option->name);
        return OPTIONS_BAD;
    }
    const char *value;
    if (take_value(parse, option, inlined, next, &value)) return OPTIONS_BAD;
    keep_argument(&parse->given[row], value);
    return OPTIONS_RUN;
}

static void take_environment(struct options_parse *parse) {
    for (size_t i = 0; i < parse->table.count; i++) {
        char variable[OPTION_VARIABLE_MAX];
        if (!parse->table.rows[i].set || parse->given[i].text) continue;
        option_variable(&parse->table.rows[i], variable);
        parse->given[i].text = options_variable(parse, variable);
        if (parse->given[i].text) parse->given[i].origin = ORIGIN_ENVIRONMENT;
    }
}

/* RATELIMITD_BIN tells scripts where the program is, those of its tests among them. */
static bool is_known_variable(const struct option_table *table, const char *name, size_t len) {
    static const char *const others[] = {"RATELIMITD_ADMIN_TOKEN", "RATELIMITD_CHECK_TOKEN",
                                         "RATELIMITD_BIN"};
    char variable[OPTION_VARIABLE_MAX];
    for (size_t i = 0; i < table->count; i++) {
        option_variable(&table->rows[i], variable);
        if (strlen(variable) == len && memcmp(variable, name, len) == 0) return true;
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        if (strlen(others[i]) == len && memcmp(others[i], name, len) == 0) return true;
    }
    return false;
}

/* A misspelt name would be ignored in silence, and whoever set it thinks it counts. */
static void note_unknown_variables(struct options_parse *parse) {
    static const char prefix[] = "RATELIMITD_";
    struct options *options = parse->options;
    struct buf names = BUF_INIT(sizeof options->unknown_variables - 1);
    char quoted[OPTION_QUOTE_MAX];
    for (char *const *entry = parse->env; *entry; entry++) {
        size_t len = strcspn(*entry, "=");
        if (strncmp(*entry, prefix, sizeof prefix - 1) != 0 || is_known_variable(&parse->table, *entry, len))
            continue;
        char *name = xstrndup(*entry, len);
        buf_addf(&names, "%s%s", names.len > 0 ? ", " : "", option_quote(name, quoted));
        free(name);
    }
    snprintf(options->unknown_variables, sizeof options->unknown_variables, "%s", buf_str(&names));
    buf_free(&names);
}

static int fail_option(struct options_parse *parse, const char *name, const char *words) {
    char label[OPTION_LABEL_MAX];
    return err_set(parse->err, "%s %s", options_label(parse, name, label), words);
}

/* Each value of a list by itself, spaces around it left out. */
static int set_list(const struct option *option, const char *text, struct options *options, struct err *why) {
    int result = 0;
    for (const char *at = text; at && result == 0;) {
        at += strspn(at, " ");
        size_t len = strcspn(at, ","), kept = len;
        while (kept > 0 && at[kept - 1] == ' ')
            kept--;
        char *value = xstrndup(at, kept);
        result = option->set(option, value, options, why);
        free(value);
        at = at[len] ? at + len + 1 : NULL;
    }
    return result;
}

static int read_values(struct options_parse *parse) {
    for (size_t i = 0; i < parse->table.count; i++) {
        const struct option *option = &parse->table.rows[i];
        const char *text = parse->given[i].text ? parse->given[i].text : option->fallback;
        struct err why = ERR_INIT;
        if (!option->set || !text) continue;
        if ((option->list ? set_list : option->set)(option, text, parse->options, &why))
            return fail_option(parse, option->name, why.text);
    }
    return 0;
}

/* RATELIMITD_..._TOKEN, when the command line names no file. */
static int complete_token(struct options_parse *parse, const char *option, const char *name, char **place) {
    const char *token = options_variable(parse, name);
    enum option_origin file = options_given(parse, option)->origin;
    if (!token || file == ORIGIN_ARGUMENT) return 0;
    if (file == ORIGIN_ENVIRONMENT)
        return err_set(parse->err, "%s and %s_FILE are both set; give one of them", name, name);
    const char *fault = secret_fault(SECRET_TOKEN, token, strlen(token));
    if (fault) return err_set(parse->err, "%s %s", name, fault);
    *place = secret_keep(token, strlen(token));
    return 0;
}

static int complete_tokens(struct options_parse *parse) {
    struct options *options = parse->options;
    return complete_token(parse, "admin-token-file", "RATELIMITD_ADMIN_TOKEN", &options->admin_token) ||
                   complete_token(parse, "check-token-file", "RATELIMITD_CHECK_TOKEN", &options->check_token)
               ? -1
               : 0;
}

/* --gateway believes nobody but a trusted proxy. */
static int check_gateway(struct options_parse *parse) {
    const struct options *options = parse->options;
    if (options->gateway == GATEWAY_NONE || options->trusted_proxies.count > 0) return 0;
    return fail_option(parse, "gateway", "needs a --trusted-proxy: the address that the gateway calls from");
}

/* What bounds on single values cannot say. */
static int check_limit(struct options_parse *parse) {
    size_t param = 0;
    struct err why = ERR_INIT;
    if (limit_settings_check(&parse->options->limit, &param, &why) == 0) return 0;
    char name[OPTION_NAME_MAX];
    option_param_name(&parse->options->limit.algorithm->params[param], name);
    return fail_option(parse, name, why.text);
}

static void set_defaults(struct options *options) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    options->threads = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (int)cpus;
}

static int check_tls(struct options_parse *parse) {
    const struct options *options = parse->options;
    if (!options->tls_cert == !options->tls_key) return 0;
    return fail_option(parse, options->tls_cert ? "tls-cert" : "tls-key",
                       options->tls_cert ? "needs --tls-key, the key of that certificate"
                                         : "needs --tls-cert, the certificate of that key");
}

/* From what was given to the options. */
static enum options_result settle(struct options_parse *parse) {
    take_environment(parse);
    note_unknown_variables(parse);
    bool bad = options_redis_settle(parse) || options_check_sources(parse) || read_values(parse) ||
               options_redis_complete(parse) || complete_tokens(parse) || check_gateway(parse) ||
               check_tls(parse) || check_limit(parse);
    return bad ? OPTIONS_BAD : OPTIONS_RUN;
}

enum options_result options_parse(struct options *options, int argc, char *const *argv, char *const *env,
                                  struct err *err) {
    *options = (struct options){.port = 0};
    struct options_parse parse = {.options = options, .env = env, .err = err};
    option_table_fill(&parse.table);
    set_defaults(options);
    enum options_result result = OPTIONS_RUN;
    for (char *const *next = argv + (argc > 0); result == OPTIONS_RUN && *next;)
        result = take_argument(&parse, &next);
    if (result == OPTIONS_RUN) result = settle(&parse);
    for (size_t i = 0; i < parse.table.count; i++)
        free(parse.given[i].joined);
    return result;
}

void options_free(struct options *options) {
    free(options->host);
    free(options->redis_host);
    free(options->redis_socket);
    free(options->redis_user);
    secret_free(options->redis_password);
    free(options->key_prefix);
    secret_free(options->admin_token);
    secret_free(options->check_token);
    ip_blocks_free(&options->trusted_proxies);
    cors_origins_free(&options->cors_origins);
    free(options->tls_cert);
    free(options->tls_key);
    free(options->static_dir);
    free(options->config_path);
    free(options->seed_path);
    free(options->document);
    *options = (struct options){.port = 0};
}

static void write_default(struct json_out *json, const struct options *options) {
    const struct algorithm *algorithm = options->limit.algorithm;
    json_object(json, "default");
    json_array(json, "paths");
    json_str(json, NULL, "/api");
    json_end(json);
    json_str(json, "key", "ip:{ip}");
    json_str(json, "algorithm", algorithm->name);
    for (size_t i = 0; i < algorithm->param_count; i++)
        json_micro(json, algorithm->params[i].name, options->limit.params[i]);
    json_str(json, "on_redis_error", on_redis_error_name(options->on_redis_error));
    json_end(json);
}

/* One of each algorithm for a first look, at /api/token-bucket and so on, with the algorithm's defaults. */
static void write_example(struct json_out *json, const struct options *options,
                          const struct algorithm *algorithm) {
    char name[POLICY_NAME_MAX + 1], path[POLICY_NAME_MAX + 8];
    snprintf(name, sizeof name, "%s", algorithm->name);
    for (char *at = name; *at; at++) {
        if (*at == '_') *at = '-';
    }
    snprintf(path, sizeof path, "/api/%s", name);
    json_object(json, name);
    json_array(json, "paths");
    json_str(json, NULL, path);
    json_end(json);
    json_str(json, "key", "user:{query.user|ip}");
    json_str(json, "algorithm", algorithm->name);
    json_str(json, "on_redis_error", on_redis_error_name(options->on_redis_error));
    json_end(json);
}

void options_config_json(const struct options *options, struct buf *out) {
    struct json_out json;
    if (options->document) {
        buf_adds(out, options->document);
        return;
    }
    json_begin(&json, out);
    json_object(&json, NULL);
    json_object(&json, "policies");
    write_default(&json, options);
    for (size_t i = 0; i < algorithm_count; i++)
        write_example(&json, options, algorithms[i]);
    json_end(&json);
    json_end(&json);
}
