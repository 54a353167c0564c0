/* Where Redis is and who we are to it: host or socket or --with-redis, and the variables REDIS_URL and
 * REDIS_PASSWORD that other programs share. Connects nowhere. */
#include <stdlib.h>
#include <string.h>

#include "app/options_parse.h"
#include "app/secret.h"
#include "base/percent.h"
#include "base/xmalloc.h"

static const char URL_FORMS[] = "redis://[user[:password]@]host[:port][/db] or unix:///path[?db=N]";

/* A URL taken apart in a copy of its own; NULL: the part is not there. */
struct redis_url {
    bool is_unix;
    char *user, *password, *host, *port, *path, *db;
};

static enum option_origin higher(enum option_origin a, enum option_origin b) {
    return a > b ? a : b;
}

static int fail_both(struct options_parse *parse, const char *one, const char *other, const char *why) {
    char a[OPTION_LABEL_MAX], b[OPTION_LABEL_MAX];
    return err_set(parse->err, "%s and %s exclude each other: %s", options_label(parse, one, a),
                   options_label(parse, other, b), why);
}

int options_redis_settle(struct options_parse *parse) {
    struct option_given *host = options_given(parse, "redis-host"),
                        *port = options_given(parse, "redis-port");
    struct option_given *socket = options_given(parse, "redis-socket");
    enum option_origin tcp = higher(host->origin, port->origin);
    if (socket->origin == ORIGIN_NONE || tcp == ORIGIN_NONE) return 0;
    if (socket->origin == tcp) {
        return fail_both(parse, "redis-socket", host->origin == tcp ? "redis-host" : "redis-port",
                         "give a socket, or host and port");
    }
    struct option_given nothing = {.origin = ORIGIN_NONE};
    if (socket->origin < tcp) {
        *socket = nothing;
    } else {
        *host = *port = nothing;
    }
    return 0;
}

static int check_private(struct options_parse *parse) {
    static const char *const others[] = {"redis-host", "redis-port", "redis-socket", "redis-user",
                                         "redis-password-file"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (options_given(parse, others[i])->origin == ORIGIN_NONE) continue;
        return fail_both(parse, "with-redis", others[i],
                         "a private Redis has its own socket and no password");
    }
    return 0;
}

/* REDIS_URL may hold a password, so its text is never repeated in words. */
static int fail_url(struct options_parse *parse, const char *part) {
    return err_set(
        parse->err,
        "REDIS_URL: the %s is not valid; it must be %s (percent-encode what is special in user and password)",
        part, URL_FORMS);
}

/* Ends `text` at the first `separator` and returns what is behind it; NULL if there is none. */
static char *cut(char *text, char separator) {
    char *found = strchr(text, separator);
    if (!found) return NULL;
    *found = '\0';
    return found + 1;
}

/* Of "[::1]:6379" and "host:6379". False if brackets do not match. */
static bool split_host(struct redis_url *url, char *text) {
    url->host = text;
    if (*text != '[') {
        url->port = cut(text, ':');
        return true;
    }
    url->host = text + 1;
    char *behind = cut(url->host, ']');
    if (!behind || (*behind && *behind != ':')) return false;
    if (*behind) url->port = behind + 1;
    return true;
}

static void split_user(struct redis_url *url, char *text) {
    url->user = text;
    url->password = cut(text, ':');
    if (!*url->user) url->user = NULL;
}

/* Takes `text` apart in place. Returns NULL, or the name of the part that is wrong. */
static const char *split_url(struct redis_url *url, char *text) {
    url->is_unix = strncmp(text, "unix://", 7) == 0;
    if (!url->is_unix && strncmp(text, "redis://", 8) != 0) return "scheme";
    char *rest = text + (url->is_unix ? 7 : 8);
    char *query = cut(rest, '?');
    if (query && strncmp(query, "db=", 3) != 0) return "query";
    if (query) url->db = query + 3;

    char *slash = strchr(rest, '/');
    if (slash && url->is_unix)
        url->path = xstrdup(slash); /* its own, for it keeps the slash that ends the host */
    if (slash) *slash = '\0';
    if (slash && !url->is_unix && slash[1]) {
        if (url->db) return "database";
        url->db = slash + 1;
    }
    char *at = strrchr(rest, '@');
    if (at) {
        *at = '\0';
        split_user(url, rest);
        rest = at + 1;
    }
    if (url->is_unix) return *rest || !url->path ? "path" : NULL;
    return split_host(url, rest) ? NULL : "host";
}

/* Decodes in place. False for bad encodings and for NUL. */
static bool decode(char *text) {
    size_t len;
    if (percent_decode(text, strlen(text), PERCENT_PLUS_PLAIN, text, &len)) return false;
    text[len] = '\0';
    return strlen(text) == len;
}

static const struct option *row(struct options_parse *parse, const char *name) {
    return &parse->table.rows[option_table_find(&parse->table, name, strlen(name))];
}

/* Sets an option from a part of the URL, by the option's own rule, unless it was given elsewhere. */
static int use_part(struct options_parse *parse, const char *name, char *text, const char *part) {
    if (!text || options_given(parse, name)->origin != ORIGIN_NONE) return 0;
    const struct option *option = row(parse, name);
    if (!decode(text) || option->set(option, text, parse->options, NULL)) return fail_url(parse, part);
    return 0;
}

static int use_password(struct options_parse *parse, char *password) {
    if (!password || parse->options->redis_password) return 0;
    if (!decode(password) || secret_fault(SECRET_PASSWORD, password, strlen(password)))
        return fail_url(parse, "password");
    parse->options->redis_password = secret_keep(password, strlen(password));
    return 0;
}

static int use_url(struct options_parse *parse, const char *text) {
    struct redis_url url = {.is_unix = false};
    char *copy = xstrdup(text);
    size_t len = strlen(copy);
    const char *wrong = split_url(&url, copy);
    int result = wrong ? fail_url(parse, wrong) : 0;
    if (result == 0) {
        result = use_part(parse, "redis-host", url.host, "host") ||
                         use_part(parse, "redis-port", url.port, "port") ||
                         use_part(parse, "redis-socket", url.path, "path") ||
                         use_part(parse, "redis-db", url.db, "database") ||
                         use_part(parse, "redis-user", url.user, "user") || use_password(parse, url.password)
                     ? -1
                     : 0;
    }
    explicit_bzero(copy, len);
    free(copy);
    free(url.path);
    return result;
}

/* An address given elsewhere makes the URL somebody else's: its password must not go to another server. */
static bool address_given(struct options_parse *parse) {
    return options_given(parse, "redis-host")->origin != ORIGIN_NONE ||
           options_given(parse, "redis-port")->origin != ORIGIN_NONE ||
           options_given(parse, "redis-socket")->origin != ORIGIN_NONE;
}

int options_redis_complete(struct options_parse *parse) {
    struct options *options = parse->options;
    if (options->with_redis) return check_private(parse);
    const char *password = options_variable(parse, "REDIS_PASSWORD"),
               *url = options_variable(parse, "REDIS_URL");
    if (password && *password && !options->redis_password) {
        const char *fault = secret_fault(SECRET_PASSWORD, password, strlen(password));
        if (fault) return err_set(parse->err, "REDIS_PASSWORD %s", fault);
        options->redis_password = secret_keep(password, strlen(password));
    }
    if (url && *url && !address_given(parse) && use_url(parse, url)) return -1;
    if (!options->redis_user || options->redis_password) return 0;
    /* Its name is not repeated: "redis://secret@host" makes a user of what was meant as the password. */
    return err_set(parse->err, "a Redis user needs a password: give --redis-password-file or REDIS_PASSWORD");
}
