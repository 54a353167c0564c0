/* The text of --help, drawn from the table. Reads no values. */
#include <string.h>

#include "app/options_table.h"

enum { WIDTH = 100, TEXT_COLUMN = 32, WORDS_MAX = 512, ALLOWED_MAX = 160 };

static void add_spaces(struct buf *out, size_t count) {
    while (count-- > 0)
        buf_addc(out, ' ');
}

/* Adds `text` word by word from `column` on, in lines that end before WIDTH and begin at `indent`. */
static void add_wrapped(struct buf *out, const char *text, size_t column, size_t indent) {
    bool first = true;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (!first && column + 1 + len > WIDTH) {
            buf_addc(out, '\n');
            add_spaces(out, indent);
            column = indent;
        } else if (!first) {
            buf_addc(out, ' ');
            column++;
        }
        buf_add(out, text, len);
        column += len;
        text += len + strspn(text + len, " ");
        first = false;
    }
    buf_addc(out, '\n');
}

/* Which algorithms have the parameter, and where one bounds it otherwise than the first. */
static void add_param_words(struct buf *words, const struct param *param) {
    char allowed[ALLOWED_MAX];
    param_allowed(param, allowed, sizeof allowed);
    buf_addf(words, " In %s: %s.", param->unit, allowed);
    const char *glue = " Of ";
    for (size_t i = 0; i < algorithm_count; i++) {
        int index = algorithm_param(algorithms[i], param->name);
        if (index < 0) continue;
        buf_addf(words, "%s%s", glue, algorithms[i]->name);
        if (algorithms[i]->params[index].max != param->max) {
            param_allowed(&algorithms[i]->params[index], allowed, sizeof allowed);
            buf_addf(words, " (%s)", allowed);
        }
        glue = ", ";
    }
    buf_addc(words, '.');
}

/* Summary, what is allowed, default. */
static void add_words(struct buf *words, const struct option *option) {
    buf_adds(words, option->summary);
    if (option->set == option_set_int) buf_addf(words, " From %d to %d.", option->min, option->max);
    if (option->param) add_param_words(words, option->param);
    if (option->set == option_set_algorithm) {
        char names[ALLOWED_MAX];
        option_words(option, names, sizeof names);
        buf_addf(words, " %s.", names);
    }
    if (option->list) buf_adds(words, " May be given several times, or as a list with commas.");
    const char *fallback = option->shown ? option->shown : option->fallback;
    if (fallback) buf_addf(words, " [%s]", fallback);
}

static void add_option(struct buf *out, const struct option *option) {
    struct buf left = BUF_INIT(WORDS_MAX), words = BUF_INIT(WORDS_MAX);
    buf_addf(&left, "  --%s", option->name);
    if (option->argument) buf_addf(&left, " %s", option->argument);
    buf_adds(out, buf_str(&left));
    size_t column = left.len;
    if (column + 2 > TEXT_COLUMN) { /* too long for its column: the words begin on the next line */
        buf_addc(out, '\n');
        column = 0;
    }
    add_spaces(out, TEXT_COLUMN - column);
    add_words(&words, option);
    add_wrapped(out, buf_str(&words), TEXT_COLUMN, TEXT_COLUMN);
    buf_free(&left);
    buf_free(&words);
}

static const char *const notes[] = {
    "A value in brackets is the default. --name VALUE and --name=VALUE are the same.",
    "Every option also reads an environment variable: RATELIMITD_ and its name in capitals, dashes as "
    "underscores "
    "(RATELIMITD_REDIS_HOST); a flag is on with 1, true, yes or on. The command line wins. "
    "Other variables that begin with RATELIMITD_ are named in a warning at the start (RATELIMITD_BIN is "
    "not).",
    "RATELIMITD_ADMIN_TOKEN and RATELIMITD_CHECK_TOKEN hold the token itself in place of a file. "
    "REDIS_PASSWORD holds the password of "
    "Redis. REDIS_URL, "
    "redis://[user[:password]@]host[:port][/db] or unix:///path[?db=N], counts where no other option or "
    "variable says where "
    "Redis is. Passwords and tokens are never arguments, since everybody on a machine can read those.",
};

void options_help(struct buf *out) {
    struct option_table table;
    option_table_fill(&table);
    buf_adds(out, "Usage: ratelimitd [options]\n\n");
    add_wrapped(out,
                "An HTTP rate limit server that decides in Redis, so that all its instances share one limit.",
                0, 0);
    for (size_t i = 0; i < table.count; i++) {
        if (table.rows[i].section) buf_addf(out, "\n%s:\n", table.rows[i].section);
        add_option(out, &table.rows[i]);
    }
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        buf_addc(out, '\n');
        add_wrapped(out, notes[i], 0, 0);
    }
}
