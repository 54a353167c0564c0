/* The process between us and the private redis-server: it outlives us by a moment, to clean up after us.
 *
 * It starts the server, then waits for the end of a pipe of which we hold the other end. However we end,
 * SIGKILL included, the kernel closes our end; then it ends the server, removes the directory and exits. */
#ifndef RL_APP_REDIS_WATCHER_H
#define RL_APP_REDIS_WATCHER_H

#include <sys/types.h>

enum watcher_said {
    WATCHER_STARTED, /* value: pid of the server */
    WATCHER_NO_EXEC, /* value: errno */
    WATCHER_ENDED    /* value: wait status of the server */
};

/* What the watcher writes to its report pipe. The end of the pipe is the end of the watcher. */
struct watcher_report {
    enum watcher_said said;
    int value;
};

/* In a freshly forked child only. Never returns. `life`: pipe to read until its end. `report`: pipe to write
 * to. */
_Noreturn void redis_watcher_run(const char *dir, const char *socket_path, const char *log_path, int life,
                                 int report);

#endif
