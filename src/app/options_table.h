/* The rows behind the command line: name, variable, default, bounds, words and how a value is read. For
 * options*.c. */
#ifndef RL_APP_OPTIONS_TABLE_H
#define RL_APP_OPTIONS_TABLE_H

#include "app/options.h"
#include "base/decimal.h"

struct option;

/* Reads a value into its field. Returns 0, or -1 with words that follow the option's name: "must be ...; got
 * ...". */
typedef int option_set(const struct option *option, const char *text, struct options *options,
                       struct err *err);

struct option_word {
    const char *text; /* NULL ends a list */
    int value;
};

struct option {
    const char *section;  /* heading of --help that begins here; NULL: the one above */
    const char *name;     /* without the dashes */
    const char *argument; /* "HOST"; NULL: a flag */
    const char *fallback; /* the default, as it would be typed; NULL: none */
    const char *shown;    /* the default in words, when `fallback` does not say it */
    const char *summary;
    option_set *set;                 /* NULL: --help and --version, which have no variable either */
    size_t field;                    /* offset in struct options */
    bool list;                       /* may be given several times; `set` gets each value by itself */
    int min, max;                    /* of numbers; lengths of text */
    const struct option_word *words; /* of a choice */
    const struct param *param;       /* of a parameter: the first algorithm's that has it */
};

enum { OPTIONS_MAX = 64, OPTION_NAME_MAX = 32, OPTION_ALGORITHMS_MAX = 8, OPTION_PARAMS_MAX = 12 };

struct option_table {
    size_t count;
    struct option rows[OPTIONS_MAX];
    struct option_word algorithms[OPTION_ALGORITHMS_MAX + 1];
    size_t param_count; /* of all algorithms, each name once */
    char param_names[OPTION_PARAMS_MAX][OPTION_NAME_MAX];
    char param_shown[OPTION_PARAMS_MAX][DECIMAL_TEXT_MAX];
};

/* Fills the table: the fixed rows, with --algorithm and the parameters of all algorithms among them. Rows
 * point into `table`. */
void option_table_fill(struct option_table *table);

/* "refill-rate" for the parameter refill_rate. */
void option_param_name(const struct param *param, char out[OPTION_NAME_MAX]);

/* Row of a name, or -1. */
int option_table_find(const struct option_table *table, const char *name, size_t len);

/* "RATELIMITD_REDIS_HOST" for "redis-host". */
enum { OPTION_VARIABLE_MAX = 64 };
void option_variable(const struct option *option, char out[OPTION_VARIABLE_MAX]);

/* "info, debug or warn": the words of a choice. */
void option_words(const struct option *option, char *out, size_t size);

option_set option_set_int, option_set_flag, option_set_choice, option_set_bool_choice;
/* The algorithm is set before its parameters are: it says which there are and what they may be. */
option_set option_set_algorithm, option_set_param;
option_set option_set_listen_host, option_set_redis_host, option_set_text, option_set_prefix,
    option_set_directory;
option_set option_set_token_file, option_set_password_file, option_set_blocks, option_set_document,
    option_set_origins;

/* A value as it may stand in a one-line message: cut, and without control characters. */
enum { OPTION_QUOTE_MAX = 128 };
const char *option_quote(const char *text, char out[OPTION_QUOTE_MAX]);

#endif
