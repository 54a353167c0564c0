/* Command lines: each is either taken or refused with words. Input: arguments, one a line; what would read
 * files is left out. */
#include "app/options.h"
#include "config/config.h"
#include "fuzz.h"

enum { ARGS_MAX = 64 };

static bool reads_files(const char *text) {
    return strstr(text, "file") || strstr(text, "config") || strstr(text, "tls");
}

static void check_taken(const struct options *options) {
    struct config_refusal why = {.err = ERR_INIT};
    struct buf json = BUF_INIT(1024 * 1024);
    must(options->port >= 0 && options->port <= 65535 && options->threads > 0);
    options_config_json(options, &json);
    struct config *config = config_parse(buf_str(&json), json.len, 1, &why);
    must(config); /* what the options say is a valid document */
    config_unref(config);
    buf_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char program[] = "ratelimitd";
    char *argv[ARGS_MAX + 2] = {program}, *env[] = {NULL};
    struct input rest = input_of(data, size);
    struct options options;
    struct err err = ERR_INIT;
    int argc = 1;
    while (rest.len > 0 && argc <= ARGS_MAX) {
        char *text = input_text(input_cut(&rest, '\n'));
        if (reads_files(text))
            free(text);
        else
            argv[argc++] = text;
    }
    enum options_result result = options_parse(&options, argc, argv, env, &err);
    must((result == OPTIONS_BAD) == (err.text[0] != '\0'));
    if (result == OPTIONS_RUN) check_taken(&options);
    options_free(&options);
    for (int i = 1; i < argc; i++)
        free(argv[i]);
    return 0;
}
