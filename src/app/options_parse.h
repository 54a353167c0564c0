/* What options*.c share while a command line is being read. For them alone. */
#ifndef RL_APP_OPTIONS_PARSE_H
#define RL_APP_OPTIONS_PARSE_H

#include "app/options_table.h"

/* Where a value comes from; a higher one wins. */
enum option_origin { ORIGIN_NONE, ORIGIN_ENVIRONMENT, ORIGIN_ARGUMENT };

struct option_given {
    const char *text; /* into argv, the environment or `joined` */
    char *joined;     /* several values of a list, with commas between; owned */
    enum option_origin origin;
};

struct options_parse {
    struct options *options;
    struct option_table table;
    struct option_given given[OPTIONS_MAX]; /* by row of the table */
    char *const *env;
    struct err *err;
};

/* What was given for the option of that name. */
struct option_given *options_given(struct options_parse *parse, const char *name);

/* "--port" or "RATELIMITD_PORT": how the person wrote it. */
enum { OPTION_LABEL_MAX = OPTION_VARIABLE_MAX };
const char *options_label(struct options_parse *parse, const char *name, char out[OPTION_LABEL_MAX]);

/* Value of an environment variable; NULL if it is not set. */
const char *options_variable(const struct options_parse *parse, const char *name);

/* Before values are read: a socket or a host, whichever has the higher origin. -1 if both have the same. */
int options_redis_settle(struct options_parse *parse);

/* After values were read: --with-redis stands alone; then REDIS_PASSWORD and REDIS_URL for what is still
 * open. */
int options_redis_complete(struct options_parse *parse);

/* A setting has one source: a document, or options. Keeps in words where the settings of the start come from.
 * -1 if there are two. */
int options_check_sources(struct options_parse *parse);

#endif
