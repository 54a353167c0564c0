/* One line an event on stderr, as text or JSON. Any thread; each line leaves in one write(2).
 *
 * Client text must go through the format's arguments: every byte outside printable ASCII is escaped (\n, \x1b
 * ...) and a line is cut at 2 KiB, so that nobody can forge an entry. Secrets are the caller's duty: never
 * pass one. */
#ifndef RL_BASE_LOG_H
#define RL_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Call before threads start. */
void log_setup(enum log_level level, bool json);
bool log_enabled(enum log_level level);

void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)                                                                                       \
    do {                                                                                                     \
        if (log_enabled(LOG_DEBUG)) log_line(LOG_DEBUG, __VA_ARGS__);                                        \
    } while (0)

#endif
