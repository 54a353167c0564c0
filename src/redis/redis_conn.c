/* The states of a connection, its handshake and its back-off. What is sent over it once it is ready is
 * redis_link's.
 *
 * "Connected" means little: a stopped Redis still accepts, and a replica answers all but writes. Ready is a
 * connection over which the scripts were loaded and a write was taken. */
#include "redis/redis_conn.h"

#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xmalloc.h"
#include "redis/redis_fault.h"
#include "redis/redis_socket.h"
#include "redis/redis_wire.h"
#include "redis/resolve.h"

enum {
    BACKOFF_MIN_MS = 50,
    BACKOFF_MAX_MS = 1000,
    ATTEMPT_MIN_MS = 500, /* connect and handshake may take this long even if commands may not */
    WHY_MAX = REDIS_FAULT_WORDS,
    AUTH_ROOM = 128, /* of AUTH, besides user and password */
    HANDSHAKE_MAX = 8 * 1024 * 1024
};

struct redis_conn {
    struct ev_loop *loop;
    const struct redis_settings *settings;
    const struct redis_script *const *scripts;
    size_t script_count;
    const struct redis_conn_events *events;
    void *arg;
    enum redis_state state;
    struct redis_socket *socket;
    struct resolve *resolve;
    struct addresses addresses;
    size_t next_address;
    ev_timer timer; /* the next attempt when down, the end of this one otherwise */
    int backoff_ms;
    uint64_t random;
    size_t logins, loads, probes; /* replies of the handshake still to come */
};

enum redis_state redis_conn_state(const struct redis_conn *conn) {
    return conn->state;
}

/* xorshift: the delays of many instances should differ, no more. */
static uint32_t random_below(struct redis_conn *conn, uint32_t bound) {
    conn->random ^= conn->random << 13;
    conn->random ^= conn->random >> 7;
    conn->random ^= conn->random << 17;
    return (uint32_t)(conn->random >> 32) % bound;
}

static void arm(struct redis_conn *conn, int milliseconds) {
    ev_timer_stop(conn->loop, &conn->timer);
    ev_timer_set(&conn->timer, milliseconds / 1e3, 0.);
    ev_timer_start(conn->loop, &conn->timer);
}

static int attempt_ms(const struct redis_conn *conn) {
    return conn->settings->timeout_ms > ATTEMPT_MIN_MS ? conn->settings->timeout_ms : ATTEMPT_MIN_MS;
}

/* --- down and up again --- */

static void go_down(struct redis_conn *conn) {
    redis_socket_close(conn->socket);
    conn->socket = NULL;
    resolve_cancel(conn->resolve);
    conn->resolve = NULL;
    conn->state = REDIS_DOWN;
    int delay = conn->backoff_ms - (int)random_below(conn, (uint32_t)conn->backoff_ms / 2 + 1);
    arm(conn, delay > BACKOFF_MIN_MS ? delay : BACKOFF_MIN_MS);
    conn->backoff_ms = conn->backoff_ms * 2 < BACKOFF_MAX_MS ? conn->backoff_ms * 2 : BACKOFF_MAX_MS;
}

static bool connect_next(struct redis_conn *conn, struct err *err);

static void fail(struct redis_conn *conn, const char *why) {
    bool was_ready = conn->state == REDIS_READY;
    char words[WHY_MAX]; /* `why` may belong to the socket, which goes now */
    snprintf(words, sizeof words, "%s", why);
    go_down(conn);
    (was_ready ? conn->events->lost : conn->events->failed)(conn->arg, words);
}

/* Trouble at one address. Another address of the same name is tried at once. */
static void fail_address(struct redis_conn *conn, const char *why) {
    struct err err = ERR_INIT;
    err_set(&err, "%s", why);
    redis_socket_close(conn->socket);
    conn->socket = NULL;
    if (conn->state != REDIS_CONNECTING || !connect_next(conn, &err)) fail(conn, err.text);
}

void redis_conn_drop(struct redis_conn *conn, const char *why) {
    if (conn->socket) fail(conn, why);
}

/* --- handshake --- */

/* It goes first and by itself, so that no buffer keeps the password. False if it cannot be sent. */
static bool send_auth(struct redis_conn *conn) {
    const struct redis_settings *set = conn->settings;
    const char *password = set->password ? set->password : "";
    if (!set->password && !set->user) return true;
    struct buf out = BUF_INIT(AUTH_ROOM + strlen(password) + (set->user ? strlen(set->user) : 0));
    buf_expect(&out, out.max); /* it will not be moved */
    redis_wire_begin(&out, set->user ? 3 : 2);
    redis_wire_text(&out, "AUTH");
    if (set->user) redis_wire_text(&out, set->user);
    redis_wire_secret(&out, password);
    bool sent = !out.overflow && redis_socket_send_secret(conn->socket, out.data, out.len);
    explicit_bzero(out.data, out.cap);
    buf_free(&out);
    conn->logins++;
    return sent;
}

static void login(struct redis_conn *conn, struct buf *out) {
    const struct redis_settings *set = conn->settings;
    if (set->db != 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", set->db);
        redis_wire_begin(out, 2);
        redis_wire_text(out, "SELECT");
        redis_wire_text(out, number);
        conn->logins++;
    }
    if (conn->logins == 0 && conn->script_count == 0) { /* something must show that it is alive */
        redis_wire_begin(out, 1);
        redis_wire_text(out, "PING");
        conn->logins++;
    }
}

static void load_scripts(struct redis_conn *conn, struct buf *out) {
    for (size_t i = 0; i < conn->script_count; i++) {
        redis_wire_begin(out, 3);
        redis_wire_text(out, "SCRIPT");
        redis_wire_text(out, "LOAD");
        redis_wire_word(out, conn->scripts[i]->text, conn->scripts[i]->len);
    }
    conn->loads = conn->script_count;
}

/* A write that changes nothing, since nothing else tells a master from a replica to a user with few rights.
 */
static void probe(struct redis_conn *conn, struct buf *out) {
    if (!conn->settings->probe_key) return;
    redis_wire_begin(out, 2);
    redis_wire_text(out, "UNLINK");
    redis_wire_text(out, conn->settings->probe_key);
    conn->probes++;
}

/* All of the handshake leaves at once, without waiting for an answer: one round trip. */
static void on_connected(void *arg) {
    struct redis_conn *conn = arg;
    struct buf out = BUF_INIT(HANDSHAKE_MAX);
    conn->logins = conn->loads = conn->probes = 0;
    bool sent = send_auth(conn);
    login(conn, &out);
    load_scripts(conn, &out);
    probe(conn, &out);
    conn->state = conn->logins > 0 ? REDIS_AUTHENTICATING : REDIS_LOADING_SCRIPTS;
    sent = sent && !out.overflow && redis_socket_send(conn->socket, out.data, out.len);
    buf_free(&out);
    if (!sent) fail(conn, "the scripts are too large");
}

static void become_ready_if_done(struct redis_conn *conn) {
    if (conn->loads > 0 || conn->probes > 0) return;
    ev_timer_stop(conn->loop, &conn->timer);
    conn->state = REDIS_READY;
    conn->events->ready(conn->arg);
}

static void fail_by_error(struct redis_conn *conn, const char *error) {
    char why[WHY_MAX];
    redis_fault_describe(error, why, sizeof why);
    fail(conn, why);
}

/* Some servers repeat the arguments of a command that they do not know. */
static void fail_login(struct redis_conn *conn, const char *error) {
    const char *password = conn->settings->password;
    bool repeats = strstr(error, "args beginning") || (password && *password && strstr(error, password));
    fail_by_error(conn, repeats ? "it refuses AUTH" : error);
}

static void on_login_reply(struct redis_conn *conn, const struct redis_value *value) {
    const char *error = redis_value_error(value);
    size_t len = 0;
    if (error) {
        fail_login(conn, error);
    } else if (!redis_value_str(value, &len)) {
        fail(conn, "an answer to AUTH, SELECT or PING that is none");
    } else if (--conn->logins == 0) {
        conn->state = REDIS_LOADING_SCRIPTS;
        become_ready_if_done(conn);
    }
}

static void on_load_reply(struct redis_conn *conn, const struct redis_value *value) {
    const struct redis_script *script = conn->scripts[conn->script_count - conn->loads];
    const char *error = redis_value_error(value);
    size_t len = 0;
    const char *digest = redis_value_str(value, &len);
    if (error)
        fail_by_error(conn, error);
    else if (!digest || len != strlen(script->sha1) || memcmp(digest, script->sha1, len) != 0)
        fail(conn, "an answer to SCRIPT LOAD that is not the script's digest");
    else if (--conn->loads == 0)
        become_ready_if_done(conn);
}

static void on_probe_reply(struct redis_conn *conn, const struct redis_value *value) {
    const char *error = redis_value_error(value);
    int64_t removed;
    if (error) {
        fail_by_error(conn, error);
    } else if (!redis_value_int(value, &removed)) {
        fail(conn, "an answer to UNLINK that is no number");
    } else {
        conn->probes--;
        become_ready_if_done(conn);
    }
}

/* Who answers everything with an error is not to be connected to as fast as it lets us. */
static void on_reply_when_ready(struct redis_conn *conn, const struct redis_value *value) {
    if (!redis_value_error(value)) conn->backoff_ms = BACKOFF_MIN_MS;
    conn->events->reply(conn->arg, value);
}

static void on_reply(void *arg, const struct redis_value *value) {
    struct redis_conn *conn = arg;
    if (conn->state == REDIS_READY)
        on_reply_when_ready(conn, value);
    else if (conn->logins > 0)
        on_login_reply(conn, value);
    else if (conn->loads > 0)
        on_load_reply(conn, value);
    else
        on_probe_reply(conn, value);
}

static void on_closed(void *arg, const char *why) {
    fail_address(arg, why);
}

/* --- attempts --- */

static bool connect_next(struct redis_conn *conn, struct err *err) {
    static const struct redis_socket_events events = {
        .connected = on_connected, .reply = on_reply, .closed = on_closed};
    while (conn->next_address < conn->addresses.count) {
        size_t i = conn->next_address++;
        const struct sockaddr *at = (const struct sockaddr *)&conn->addresses.list[i].at;
        conn->socket = redis_socket_open(conn->loop, at, conn->addresses.list[i].len, &events, conn, err);
        if (!conn->socket) continue;
        conn->state = REDIS_CONNECTING;
        arm(conn, attempt_ms(conn));
        return true;
    }
    return false;
}

static void begin_connecting(struct redis_conn *conn) {
    struct err err = ERR_INIT;
    conn->next_address = 0;
    if (!connect_next(conn, &err)) fail(conn, err.text);
}

static void on_resolved(void *arg, const struct addresses *found, const char *error) {
    struct redis_conn *conn = arg;
    conn->resolve = NULL;
    if (error && conn->addresses.count == 0) {
        char why[WHY_MAX];
        snprintf(why, sizeof why, "cannot resolve %s: %s", conn->settings->host, error);
        fail(conn, why);
        return;
    }
    if (!error) conn->addresses = *found; /* else what the name meant last time has to do */
    begin_connecting(conn);
}

static void attempt(struct redis_conn *conn) {
    const struct redis_settings *set = conn->settings;
    struct err err = ERR_INIT;
    if (set->socket_path) {
        if (resolve_unix(set->socket_path, &conn->addresses, &err) == 0)
            begin_connecting(conn);
        else
            fail(conn, err.text);
        return;
    }
    struct addresses found;
    if (resolve_numeric(set->host, set->port, &found) == 0) {
        conn->addresses = found;
        begin_connecting(conn);
        return;
    }
    conn->state = REDIS_RESOLVING;
    conn->resolve = resolve_start(conn->loop, set->host, set->port, on_resolved, conn, &err);
    if (!conn->resolve) fail(conn, err.text);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents) {
    (void)loop;
    (void)revents;
    struct redis_conn *conn = timer->data;
    char why[WHY_MAX];
    if (conn->state == REDIS_DOWN) {
        attempt(conn);
        return;
    }
    snprintf(why, sizeof why, "no answer within %d ms while %s", attempt_ms(conn),
             conn->state == REDIS_CONNECTING ? "connecting" : "greeting it");
    fail_address(conn, why);
}

struct redis_conn *redis_conn_new(struct ev_loop *loop, const struct redis_settings *settings,
                                  const struct redis_script *const *scripts, size_t script_count,
                                  const struct redis_conn_events *events, void *arg) {
    struct redis_conn *conn = xcalloc(1, sizeof *conn);
    conn->loop = loop;
    conn->settings = settings;
    conn->scripts = scripts;
    conn->script_count = script_count;
    conn->events = events;
    conn->arg = arg;
    conn->backoff_ms = BACKOFF_MIN_MS;
    conn->random = ((uint64_t)clock_mono_us() << 16 ^ (uint64_t)(uintptr_t)conn) | 1;
    ev_init(&conn->timer, on_timer);
    conn->timer.data = conn;
    arm(conn, 0);
    return conn;
}

void redis_conn_free(struct redis_conn *conn) {
    if (!conn) return;
    ev_timer_stop(conn->loop, &conn->timer);
    redis_socket_close(conn->socket);
    resolve_cancel(conn->resolve);
    free(conn);
}

bool redis_conn_send(struct redis_conn *conn, const void *data, size_t len) {
    return conn->state == REDIS_READY && redis_socket_send(conn->socket, data, len);
}

bool redis_conn_flush(struct redis_conn *conn) {
    return conn->socket && redis_socket_flush(conn->socket);
}

void redis_conn_poll(struct redis_conn *conn) {
    if (conn->socket) redis_socket_poll(conn->socket);
}
