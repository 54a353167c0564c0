/* The command line and its environment: one table for flags, variables, bounds and --help.
 *
 * Each option also reads RATELIMITD_NAME; argv wins. What may be given several times is one list, which can
 * be written with commas as well. RATELIMITD_ADMIN_TOKEN and RATELIMITD_CHECK_TOKEN hold the tokens
 * themselves. Below all of these come REDIS_PASSWORD and REDIS_URL, which other programs share: empty means
 * unset, and the URL counts only if no option or RATELIMITD_ variable says where Redis is, so that its
 * password goes to no other server. An empty RATELIMITD_ variable is a value like any other (and refused
 * where an empty one makes no sense, as for secrets). RATELIMITD_BIN is for scripts that look for the
 * program; any other name with RATELIMITD_ is kept, to be told as a likely mistake. */
#ifndef RL_APP_OPTIONS_H
#define RL_APP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ip.h"
#include "base/log.h"
#include "http/cors.h"
#include "http/gateway.h"
#include "limit/algorithm.h"
#include "limit/policy.h"

struct options { /* all text is owned by this struct */
    char *host;  /* a numeric address, or "localhost" */
    int port;
    int threads;
    int max_connections;
    int max_connections_per_ip; /* 0: no limit */
    char *redis_host;
    int redis_port;
    char *redis_socket;
    int redis_db;
    char *redis_user;
    char *redis_password; /* from the file, REDIS_PASSWORD or REDIS_URL */
    int redis_timeout_ms;
    bool with_redis;
    char *key_prefix;
    char *config_path;      /* --config; NULL: none */
    char *seed_path;        /* --seed-config; NULL: none */
    char *document;         /* the text of the one or the other, valid */
    char start_source[256]; /* what gave the settings of the start, in words: "--capacity, --refill-rate" */
    char unknown_variables[256]; /* RATELIMITD_ names in the environment that mean nothing: "A, B" */
    struct limit_settings limit; /* of policy `default`, if no document says it */
    enum on_redis_error on_redis_error;
    char *admin_token; /* from the file or RATELIMITD_ADMIN_TOKEN; NULL: none */
    char *check_token; /* from the file or RATELIMITD_CHECK_TOKEN; NULL: none */
    struct ip_blocks trusted_proxies;
    enum gateway gateway;
    int ipv6_prefix;
    bool denial_cache;
    bool ratelimit_fields;
    struct cors_origins cors_origins;
    char *tls_cert, *tls_key; /* both or none */
    char *static_dir;
    bool log_json;
    enum log_level log_level;
};

enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_BAD };

/* Reads argv, then the environment for what argv left out (`env`: NULL-terminated NAME=VALUE). On OPTIONS_BAD
 * `err` names the option (or variable), the value and what is allowed. Free with options_free in every case.
 */
enum options_result options_parse(struct options *options, int argc, char *const *argv, char *const *env,
                                  struct err *err);
void options_free(struct options *options);

/* The text of --help, made from the table. */
void options_help(struct buf *out);

/* The document of the start: that of the file, if one is given. Else policy `default` by the flags, and one
 * policy for each algorithm ("token-bucket" at /api/token-bucket, ...). What has its default is left out. */
void options_config_json(const struct options *options, struct buf *out);

#endif
