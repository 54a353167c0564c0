/* The process: listening socket, acceptor, workers, signals, the swap of configurations, the orderly stop. */
#ifndef RL_APP_SERVER_H
#define RL_APP_SERVER_H

#include "app/options.h"

/* Runs until a signal ends it. Returns the exit status: 0 after an orderly stop, 1 with one line on stderr
 * when it cannot start (port in use, bad address, no redis-server for --with-redis). */
int server_run(const struct options *options);

#endif
