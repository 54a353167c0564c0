/* Where the settings of the start come from. Reads none of them. */
#include <stdio.h>
#include <string.h>

#include "app/options_parse.h"
#include "base/count.h"

/* Options that say how policy `default` limits, as a document does. */
static bool is_setting(const struct option *option) {
    static const char *const names[] = {"algorithm", "on-redis-error"};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (strcmp(option->name, names[i]) == 0) return true;
    }
    return option->param != NULL;
}

/* `*document`: the option that names one, NULL if there is none. -1 if there are two. */
static int find_document(struct options_parse *parse, const char **document) {
    static const char *const names[] = {"config", "seed-config"};
    char label[OPTION_LABEL_MAX], other[OPTION_LABEL_MAX];
    *document = NULL;
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!options_given(parse, names[i])->text) continue;
        if (*document)
            return err_set(parse->err, "%s and %s are both given; give one of them",
                           options_label(parse, *document, label), options_label(parse, names[i], other));
        *document = names[i];
    }
    return 0;
}

/* Adds what was given. -1 if there is a document, too. */
static int add_settings(struct options_parse *parse, const char *document, struct buf *source) {
    char label[OPTION_LABEL_MAX], other[OPTION_LABEL_MAX];
    for (size_t i = 0; i < parse->table.count; i++) {
        const struct option *option = &parse->table.rows[i];
        if (!is_setting(option) || !parse->given[i].text) continue;
        options_label(parse, option->name, other);
        if (document)
            return err_set(parse->err, "%s and %s both say how to limit; say it in the file alone",
                           options_label(parse, document, label), other);
        buf_addf(source, "%s%s", source->len > 0 ? ", " : "", other);
    }
    return 0;
}

int options_check_sources(struct options_parse *parse) {
    struct options *options = parse->options;
    struct buf source = BUF_INIT(sizeof options->start_source - 1);
    char label[OPTION_LABEL_MAX];
    const char *document;
    if (find_document(parse, &document) < 0) return -1;
    int result = add_settings(parse, document, &source);
    if (document)
        buf_addf(&source, "%s %s", options_label(parse, document, label),
                 options_given(parse, document)->text);
    snprintf(options->start_source, sizeof options->start_source, "%s",
             source.len > 0 ? buf_str(&source) : "the settings of the start");
    buf_free(&source);
    return result;
}
