/* ratelimitd: options, then the server. */
#include <stdio.h>
#include <unistd.h>

#include "app/options.h"
#include "app/secret.h"
#include "app/server.h"

static void print(void (*write_text)(struct buf *out)) {
    struct buf text = BUF_INIT(64 * 1024);

    write_text(&text);
    fputs(buf_str(&text), stdout);
    buf_free(&text);
}

int main(int argc, char **argv) {
    struct options options;
    struct err err = ERR_INIT;
    enum options_result parsed = options_parse(&options, argc, argv, environ, &err);
    int status = 0;

    secret_wipe_environment();
    switch (parsed) {
    case OPTIONS_RUN:
        status = server_run(&options);
        break;
    case OPTIONS_HELP:
        print(options_help);
        break;
    case OPTIONS_VERSION:
        puts("ratelimitd " RATELIMITD_VERSION);
        break;
    case OPTIONS_BAD:
        fprintf(stderr, "ratelimitd: %s\n", err.text);
        status = 2;
        break;
    }
    options_free(&options);
    return status;
}
