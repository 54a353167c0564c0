/* One line an event on stderr. Keeps no file, no queue and no lock: a line is built on the caller's stack. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINE_MAX_BYTES = 2048, TIME_TEXT_MAX = 40, TAIL_MAX = 8 };

static const struct level {
    const char *text, *json;
} levels[] = {
    [LOG_ERROR] = {"ERROR", "error"},
    [LOG_WARN] = {"WARN", "warn"},
    [LOG_INFO] = {"INFO", "info"},
    [LOG_DEBUG] = {"DEBUG", "debug"},
};

static enum log_level max_level = LOG_INFO;
static bool as_json;

struct line {
    char bytes[LINE_MAX_BYTES];
    size_t len;
};

void log_setup(enum log_level level, bool json) {
    max_level = level;
    as_json = json;
}

bool log_enabled(enum log_level level) {
    return level <= max_level;
}

static void put_text(struct line *line, const char *text) {
    size_t len = strlen(text);
    memcpy(line->bytes + line->len, text, len);
    line->len += len;
}

static void put_time(struct line *line, int64_t wall_us) {
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    char date[TIME_TEXT_MAX], text[TIME_TEXT_MAX];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof text, "%.30s.%03dZ", date, (int)(wall_us / 1000 % 1000));
    put_text(line, text);
}

/* The escape of one byte as it reads in the text form; returns its length. */
static size_t escape_byte(unsigned char byte, char out[4]) {
    static const char hex[] = "0123456789abcdef";
    static const char letters[] = "\nn\rr\tt\\\\";
    if (byte >= ' ' && byte < 0x7f && byte != '\\') {
        out[0] = (char)byte;
        return 1;
    }
    out[0] = '\\';
    for (size_t i = 0; i + 1 < sizeof letters; i += 2) {
        if ((unsigned char)letters[i] != byte) continue;
        out[1] = letters[i + 1];
        return 2;
    }
    out[1] = 'x';
    out[2] = hex[byte >> 4];
    out[3] = hex[byte & 15];
    return 4;
}

/* Adds a whole escape or nothing. In JSON its quotes and backslashes are escaped once more, so that a reader
 * of either form sees the same message. */
static bool put_escape(struct line *line, const char *escape, size_t len) {
    char out[8];
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        if (as_json && (escape[i] == '"' || escape[i] == '\\')) out[count++] = '\\';
        out[count++] = escape[i];
    }
    if (line->len + count + TAIL_MAX > sizeof line->bytes) return false;
    memcpy(line->bytes + line->len, out, count);
    line->len += count;
    return true;
}

static void put_message(struct line *line, const char *text, size_t len, bool cut) {
    for (size_t i = 0; i < len; i++) {
        char escape[4];
        if (put_escape(line, escape, escape_byte((unsigned char)text[i], escape))) continue;
        cut = true;
        break;
    }
    if (cut) put_text(line, "...");
}

static void write_line(const struct line *line) {
    ssize_t written;
    do {
        written = write(STDERR_FILENO, line->bytes, line->len);
    } while (written < 0 && errno == EINTR);
}

void log_line(enum log_level level, const char *fmt, ...) {
    if (!log_enabled(level)) return;
    int saved = errno;
    char message[LINE_MAX_BYTES];
    va_list args;
    va_start(args, fmt);
    int wanted = vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    size_t len = wanted < 0 ? 0 : (size_t)wanted;
    bool cut = len >= sizeof message;
    if (cut) len = sizeof message - 1;

    struct line line;
    line.len = 0;
    if (as_json) put_text(&line, "{\"time\":\"");
    put_time(&line, clock_wall_us());
    put_text(&line, as_json ? "\",\"level\":\"" : " ");
    put_text(&line, as_json ? levels[level].json : levels[level].text);
    put_text(&line, as_json ? "\",\"message\":\"" : " ");
    put_message(&line, message, len, cut);
    put_text(&line, as_json ? "\"}\n" : "\n");
    write_line(&line);
    errno = saved;
}
