/* What SIGHUP does: reads files again that may have changed. */
#ifndef RL_APP_RELOAD_H
#define RL_APP_RELOAD_H

#include "app/options.h"
#include "config/config_store.h"

/* The file of --config and the pair of --tls-cert and --tls-key. What is not in order is logged, and what was
 * in use stays. The main thread. */
void reload(const struct options *options, struct config_store *store);

#endif
