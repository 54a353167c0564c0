/* One pipelined asynchronous connection to Redis, on one libev loop. It knows connections, scripts and
 * deadlines; it knows no limits. One thread: every call and every callback is on the loop's thread.
 *
 * An error that means that Redis is away (redis_fault.h) ends the connection, as its loss does.
 * Every command gets exactly one answer, at the latest at its deadline. A command whose reply was lost is not
 * sent again; NOSCRIPT means that nothing ran, so that alone is sent again (as EVAL). */
#ifndef RL_REDIS_REDIS_LINK_H
#define RL_REDIS_REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"

struct ev_loop;

struct redis_settings { /* all text owned by whoever made it; outlives the links */
    const char *host;
    int port;
    const char *socket_path; /* instead of host and port; NULL if none */
    int db;
    const char *user;      /* NULL: none */
    const char *password;  /* NULL: none. Never logged */
    int timeout_ms;        /* for one command, connecting included */
    const char *probe_key; /* a key that holds nothing: removed on each connection, to see whether writes are
                              taken. NULL: not looked at */
};

struct redis_script { /* immutable, static */
    const char *name;
    const char *text;
    size_t len;    /* 0: up to the NUL; then redis_script_init counts */
    char sha1[41]; /* hex; filled by redis_script_init */
};

/* Computes the digest. Call once before threads start. */
void redis_script_init(struct redis_script *script);

enum redis_state {
    REDIS_DOWN,
    REDIS_RESOLVING,
    REDIS_CONNECTING,
    REDIS_AUTHENTICATING,
    REDIS_LOADING_SCRIPTS,
    REDIS_READY
};

enum redis_status {
    REDIS_OK,        /* `value` is the reply, not an error */
    REDIS_ERROR,     /* Redis answered with an error: `error` is its text */
    REDIS_NOT_READY, /* the link is known to be down: not sent */
    REDIS_LATE,      /* no answer within the time-out; the command may have run */
    REDIS_LOST       /* the connection went; the command may have run */
};

struct redis_value; /* a reply, valid during the callback */

typedef void redis_done(void *arg, enum redis_status status, const struct redis_value *value,
                        const char *error);

struct redis_link_stats {
    uint64_t reconnects, timeouts, commands, writes;
    uint64_t errors;              /* replies that are errors; NOSCRIPT that was seen to is none */
    struct histogram round_trips; /* microseconds from command to reply, late ones included */
    struct histogram batches;     /* commands that left in one write */
};

struct redis_link;

/* Starts to connect at once. `scripts` are loaded on every connection before it is ready. `changed` is called
 * on each change into or out of REDIS_READY (with words for the log on the way out, NULL on the way in), and
 * while it is down when an attempt fails for another reason than the last one. Never fails: an absent Redis
 * is a state. */
typedef void redis_link_changed(void *arg, bool ready, const char *why);
struct redis_link *redis_link_new(struct ev_loop *loop, const struct redis_settings *settings,
                                  const struct redis_script *const *scripts, size_t script_count,
                                  redis_link_changed *changed, void *arg);

/* Answers what is pending with REDIS_LOST, then frees. NULL is fine. Not from within one of the link's
 * callbacks. */
void redis_link_free(struct redis_link *link);

/* A link whose oldest command is past its time-out counts as down until the reply comes or the connection is
 * renewed. */
enum redis_state redis_link_state(const struct redis_link *link);
const char *redis_link_why(const struct redis_link *link); /* why it is down, in words; "" when it is ready */
const struct redis_link_stats *redis_link_stats(const struct redis_link *link);

/* Age in microseconds of the oldest unanswered command; 0 if there is none. */
int64_t redis_link_waiting_us(const struct redis_link *link);

/* Queues EVALSHA of `script`. argv holds `key_count` keys, then the arguments; all are copied. `done` is
 * called once, possibly before this returns (REDIS_NOT_READY). */
void redis_link_eval(struct redis_link *link, const struct redis_script *script, int key_count, int argc,
                     const char *const *argv, const size_t *argv_len, redis_done *done, void *arg);

/* Queues one plain command, with the same promises. */
void redis_link_command(struct redis_link *link, int argc, const char *const *argv, const size_t *argv_len,
                        redis_done *done, void *arg);

/* Writes what is queued, in one write if the socket takes it. Call once at the end of each loop turn. */
void redis_link_flush(struct redis_link *link);

/* Writes what is queued and waits here, for so long at most, until all is answered: for a last word before
 * redis_link_free, which a socket closed with something unread might take back. */
void redis_link_finish(struct redis_link *link, int limit_ms);

/* Reading a reply. Out of range or of another type: 0, NULL, -1 by the `bool`. */
bool redis_value_int(const struct redis_value *value, int64_t *out);
const char *redis_value_str(const struct redis_value *value,
                            size_t *len);                  /* NULL if not a string or status */
size_t redis_value_count(const struct redis_value *value); /* elements of an array; 0 otherwise */
const struct redis_value *redis_value_at(const struct redis_value *value, size_t index);
bool redis_value_is_array(const struct redis_value *value);
bool redis_value_is_nil(const struct redis_value *value);
const char *redis_value_error(const struct redis_value *value); /* its text if it is an error, else NULL */

#endif
