/* The rows behind the command line. Reads nothing: how values are read is in options_set.c. */
#include "app/options_table.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "http/client_ip.h"

#define FIELD(member) offsetof(struct options, member)

enum { REDIS_DB_MAX = 1000000, SOCKET_PATH_MAX = 107, USER_MAX = 256, PREFIX_MAX = 64, FILE_NAME_MAX = 4095 };

static const struct option_word on_redis_errors[] = {{"local", ON_REDIS_ERROR_LOCAL},
                                                     {"open", ON_REDIS_ERROR_OPEN},
                                                     {"closed", ON_REDIS_ERROR_CLOSED},
                                                     {NULL, 0}};
static const struct option_word ratelimit_fields[] = {{"draft-11", true}, {"off", false}, {NULL, 0}};
static const struct option_word on_off[] = {{"on", true}, {"off", false}, {NULL, 0}};
static const struct option_word gateways[] = {{"none", GATEWAY_NONE},
                                              {"x-original", GATEWAY_X_ORIGINAL},
                                              {"x-forwarded", GATEWAY_X_FORWARDED},
                                              {"path", GATEWAY_PATH},
                                              {NULL, 0}};
static const struct option_word log_formats[] = {{"text", false}, {"json", true}, {NULL, 0}};
static const struct option_word log_levels[] = {
    {"error", LOG_ERROR}, {"warn", LOG_WARN}, {"info", LOG_INFO}, {"debug", LOG_DEBUG}, {NULL, 0}};

/* Ahead of the parameters of the algorithm. */
static const struct option first_rows[] = {
    {.section = "Listening",
     .name = "host",
     .argument = "ADDR",
     .fallback = "127.0.0.1",
     .set = option_set_listen_host,
     .field = FIELD(host),
     .summary =
         "Listen address: a numeric IPv4 or IPv6 address (0.0.0.0 or :: to serve others), or localhost."},
    {.name = "port",
     .argument = "N",
     .fallback = "8080",
     .set = option_set_int,
     .field = FIELD(port),
     .min = 0,
     .max = 65535,
     .summary = "Listen port; 0 picks a free one, which the start-up line prints."},
    {.name = "threads",
     .argument = "N",
     .shown = "CPUs online",
     .set = option_set_int,
     .field = FIELD(threads),
     .min = 1,
     .max = 256,
     .summary = "Event-loop threads."},
    {.name = "max-connections",
     .argument = "N",
     .fallback = "10000",
     .set = option_set_int,
     .field = FIELD(max_connections),
     .min = 1,
     .max = 1000000,
     .summary = "Connections open at once, over all threads."},
    {.name = "max-connections-per-ip",
     .argument = "N",
     .shown = "no limit",
     .set = option_set_int,
     .field = FIELD(max_connections_per_ip),
     .min = 1,
     .max = 1000000,
     .summary = "Connections of one address, trusted proxies excepted; IPv6 counts by --ipv6-prefix."},
    {.name = "tls-cert",
     .argument = "FILE",
     .set = option_set_text,
     .field = FIELD(tls_cert),
     .min = 1,
     .max = FILE_NAME_MAX,
     .summary = "Serve HTTPS with this certificate (PEM, its chain behind it); SIGHUP reads it again."},
    {.name = "tls-key",
     .argument = "FILE",
     .set = option_set_text,
     .field = FIELD(tls_key),
     .min = 1,
     .max = FILE_NAME_MAX,
     .summary = "Key of --tls-cert (PEM, without a password)."},
    {.section = "Redis",
     .name = "redis-host",
     .argument = "HOST",
     .fallback = "localhost",
     .set = option_set_redis_host,
     .field = FIELD(redis_host),
     .summary = "Host name or address of Redis."},
    {.name = "redis-port",
     .argument = "N",
     .fallback = "6379",
     .set = option_set_int,
     .field = FIELD(redis_port),
     .min = 1,
     .max = 65535,
     .summary = "Port of Redis."},
    {.name = "redis-socket",
     .argument = "PATH",
     .set = option_set_text,
     .field = FIELD(redis_socket),
     .min = 1,
     .max = SOCKET_PATH_MAX,
     .summary = "Unix socket of Redis, instead of host and port."},
    {.name = "redis-db",
     .argument = "N",
     .fallback = "0",
     .set = option_set_int,
     .field = FIELD(redis_db),
     .min = 0,
     .max = REDIS_DB_MAX,
     .summary = "Number of the Redis database."},
    {.name = "redis-user",
     .argument = "NAME",
     .set = option_set_text,
     .field = FIELD(redis_user),
     .min = 1,
     .max = USER_MAX,
     .summary = "Redis ACL user."},
    {.name = "redis-password-file",
     .argument = "FILE",
     .set = option_set_password_file,
     .field = FIELD(redis_password),
     .summary = "File that holds the Redis password; a newline at its end does not count."},
    {.name = "redis-timeout",
     .argument = "MS",
     .fallback = "250",
     .set = option_set_int,
     .field = FIELD(redis_timeout_ms),
     .min = 1,
     .max = 60000,
     .summary = "Milliseconds one decision may take, connecting included."},
    {.name = "with-redis",
     .set = option_set_flag,
     .field = FIELD(with_redis),
     .shown = "off",
     .summary = "Start a private redis-server for as long as this process lives; needs no Redis set up."},
    {.name = "key-prefix",
     .argument = "TEXT",
     .fallback = "rl:",
     .set = option_set_prefix,
     .field = FIELD(key_prefix),
     .min = 1,
     .max = PREFIX_MAX,
     .summary = "Prefix of everything kept in Redis."},
};

static const struct option last_rows[] = {
    {.section = "Policies",
     .name = "config",
     .argument = "FILE",
     .set = option_set_document,
     .field = FIELD(config_path),
     .summary = "Policies document (JSON, as GET /admin/config shows it) that is the only source of "
                "settings: changes "
                "over HTTP get 409, SIGHUP reads it again."},
    {.name = "seed-config",
     .argument = "FILE",
     .set = option_set_document,
     .field = FIELD(seed_path),
     .summary = "Policies document to begin with; live changes are kept in Redis and win over it."},
    {.name = "on-redis-error",
     .argument = "MODE",
     .fallback = "local",
     .set = option_set_choice,
     .field = FIELD(on_redis_error),
     .words = on_redis_errors,
     .summary = "While Redis is away: limit by this process alone (local), let requests through (open) or "
                "answer 503 "
                "(closed)."},
    {.section = "Behind a proxy",
     .name = "trusted-proxy",
     .argument = "CIDR",
     .list = true,
     .set = option_set_blocks,
     .field = FIELD(trusted_proxies),
     .shown = "none",
     .summary = "Address or block of a proxy that is believed about the client's address (X-Forwarded-For, "
                "else Forwarded) and, with --gateway, about the original request."},
    {.name = "gateway",
     .argument = "KIND",
     .fallback = "none",
     .set = option_set_choice,
     .field = FIELD(gateway),
     .words = gateways,
     .summary = "How a trusted proxy tells /check of the original request: x-original (nginx), x-forwarded "
                "(Traefik, Caddy) or path (Envoy)."},
    {.name = "ipv6-prefix",
     .argument = "N",
     .fallback = "64",
     .set = option_set_int,
     .field = FIELD(ipv6_prefix),
     .min = 1,
     .max = CLIENT_IP_PREFIX_MAX,
     .summary = "Bits by which IPv6 clients are told apart; 128 keeps full addresses."},
    {.section = "Serving",
     .name = "admin-token-file",
     .argument = "FILE",
     .set = option_set_token_file,
     .field = FIELD(admin_token),
     .summary = "File that holds the token for /admin; a newline at its end does not count. Without one, and "
                "with --host beyond loopback or any --trusted-proxy, a token is made and printed at start."},
    {.name = "check-token-file",
     .argument = "FILE",
     .set = option_set_token_file,
     .field = FIELD(check_token),
     .summary = "File that holds the token for /check, for callers that are neither on this machine nor a "
                "trusted proxy."},
    {.name = "cors-origin",
     .argument = "ORIGIN",
     .list = true,
     .set = option_set_origins,
     .field = FIELD(cors_origins),
     .summary = "Pages of this origin may call /api and read its headers; * is all. May be given again."},
    {.name = "denial-cache",
     .argument = "on|off",
     .fallback = "on",
     .set = option_set_bool_choice,
     .field = FIELD(denial_cache),
     .words = on_off,
     .summary = "Answer denials that Redis would repeat without asking it, for a second at most."},
    {.name = "ratelimit-fields",
     .argument = "NAME",
     .fallback = "draft-11",
     .set = option_set_bool_choice,
     .field = FIELD(ratelimit_fields),
     .words = ratelimit_fields,
     .summary = "RateLimit and RateLimit-Policy header fields by this draft, or off."},
    {.name = "static-dir",
     .argument = "DIR",
     .set = option_set_directory,
     .field = FIELD(static_dir),
     .summary = "Serve the page's files from here, for people who work on them."},
    {.name = "log-format",
     .argument = "NAME",
     .fallback = "text",
     .set = option_set_bool_choice,
     .field = FIELD(log_json),
     .words = log_formats,
     .summary = "Log lines on stderr as text or json."},
    {.name = "log-level",
     .argument = "NAME",
     .fallback = "info",
     .set = option_set_choice,
     .field = FIELD(log_level),
     .words = log_levels,
     .summary = "What is logged: error, warn, info or debug."},
    {.name = "version", .summary = "Print the version and exit."},
    {.name = "help", .summary = "Print this text and exit."},
};

static void add_rows(struct option_table *table, const struct option *rows, size_t count) {
    memcpy(table->rows + table->count, rows, count * sizeof *rows);
    table->count += count;
}

void option_param_name(const struct param *param, char out[OPTION_NAME_MAX]) {
    snprintf(out, OPTION_NAME_MAX, "%s", param->name);
    for (char *at = out; *at; at++) {
        if (*at == '_') *at = '-';
    }
}

static void add_param(struct option_table *table, const struct param *param) {
    char *name = table->param_names[table->param_count], *shown = table->param_shown[table->param_count];
    table->param_count++;
    option_param_name(param, name);
    decimal_format(param->fallback, shown);
    table->rows[table->count++] = (struct option){.name = name,
                                                  .argument = "N",
                                                  .shown = shown,
                                                  .summary = param->summary,
                                                  .set = option_set_param,
                                                  .param = param};
}

static bool has_param(const struct option_table *table, const struct param *param) {
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].param && strcmp(table->rows[i].param->name, param->name) == 0) return true;
    }
    return false;
}

/* A parameter that several algorithms have is one option. */
static void add_algorithms(struct option_table *table) {
    for (size_t i = 0; i < algorithm_count; i++)
        table->algorithms[i] = (struct option_word){algorithms[i]->name, (int)i};
    table->rows[table->count++] = (struct option){.section = "Limit of policy \"default\"",
                                                  .name = "algorithm",
                                                  .argument = "NAME",
                                                  .fallback = algorithms[0]->name,
                                                  .set = option_set_algorithm,
                                                  .words = table->algorithms,
                                                  .summary = "By which algorithm it limits:"};
    for (size_t i = 0; i < algorithm_count; i++) {
        for (size_t p = 0; p < algorithms[i]->param_count; p++) {
            if (!has_param(table, &algorithms[i]->params[p])) add_param(table, &algorithms[i]->params[p]);
        }
    }
}

void option_table_fill(struct option_table *table) {
    _Static_assert(sizeof first_rows / sizeof *first_rows + 1 + OPTION_PARAMS_MAX +
                           sizeof last_rows / sizeof *last_rows <=
                       OPTIONS_MAX,
                   "room for all rows");
    *table = (struct option_table){.count = 0};
    add_rows(table, first_rows, sizeof first_rows / sizeof *first_rows);
    add_algorithms(table);
    add_rows(table, last_rows, sizeof last_rows / sizeof *last_rows);
}

int option_table_find(const struct option_table *table, const char *name, size_t len) {
    for (size_t i = 0; i < table->count; i++) {
        if (strlen(table->rows[i].name) == len && memcmp(table->rows[i].name, name, len) == 0) return (int)i;
    }
    return -1;
}

void option_variable(const struct option *option, char out[OPTION_VARIABLE_MAX]) {
    int len = snprintf(out, OPTION_VARIABLE_MAX, "RATELIMITD_%s", option->name);
    for (int i = 0; i < len && out[i]; i++) {
        if (out[i] == '-') out[i] = '_';
        if (out[i] >= 'a' && out[i] <= 'z') out[i] = (char)(out[i] - 'a' + 'A');
    }
}

void option_words(const struct option *option, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (const struct option_word *word = option->words; word->text && used < size; word++) {
        const char *glue = word == option->words ? "" : word[1].text ? ", " : " or ";
        used += (size_t)snprintf(out + used, size - used, "%s%s", glue, word->text);
    }
}
