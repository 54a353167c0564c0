/* What a Redis may say, in any pieces: every decision is answered exactly once, with numbers that are
 * possible. Input: a byte with the size of the pieces, a byte that says whether the greeting is right, then
 * the bytes that Redis sends. */
#include <arpa/inet.h>
#include <ev.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "config/config.h"
#include "fuzz.h"
#include "limit/decide_script.h"
#include "limit/limiter.h"

enum { TURNS = 4, PIECES_MAX = 64 };

static const char DOCUMENT[] =
    "{\"policies\":{\"default\":{\"on_redis_error\":\"closed\"},"
    "\"shadow\":{\"on_limit\":\"shadow\"},"
    "\"two\":{\"limits\":[{\"name\":\"a\",\"algorithm\":\"token_bucket\"},{\"name\":\"b\","
    "\"algorithm\":\"fixed_window\"}],\"on_redis_error\":\"open\"}}}";

static struct ev_loop *loop;
static struct config *config;
static struct local_limiter *local;
/* No deadline: a machine that stands still for a second is not what is looked for here. */
static struct redis_settings settings = {.host = "127.0.0.1", .timeout_ms = 600000};
static int listener = -1;
static int asked, answered;

static void setup(void) {
    struct config_refusal why = {.err = ERR_INIT};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    must(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 8) == 0);
    must(getsockname(listener, (struct sockaddr *)&at, &len) == 0);
    settings.port = ntohs(at.sin_port);
    loop = ev_loop_new(EVFLAG_AUTO);
    config = config_parse(DOCUMENT, sizeof DOCUMENT - 1, 1, &why);
    local = local_limiter_new(1000, LOCAL_BYTES_MAX);
    must(config);
    decide_scripts_init();
    log_setup(LOG_ERROR, false);
}

static void on_changed(void *arg, bool ready, const char *why) {
    (void)arg;
    must(ready == !why);
}

static void on_decision(void *arg, const struct decision *decision) {
    const struct policy *policy = arg;
    answered++;
    must(decision->count == 0 || decision->count == policy->limit_count);
    must(decision->binding < LIMITS_MAX && decision->cost == 1 && decision->delayed_us >= 0);
    for (size_t i = 0; i < decision->count; i++) {
        const struct limit_state *state = &decision->limits[i];
        must(state->remaining >= 0 && state->remaining <= limit_units(&policy->limits[i]));
        must(state->reset_after_us >= 0 && state->retry_after_us >= 0 && state->wait_one_us >= 0);
    }
    if (decision->source == SOURCE_NONE) must(decision->count == 0);
}

static void on_done(void *arg, enum redis_status status, const struct redis_value *value, const char *error) {
    (void)arg;
    answered++;
    must((value != NULL) == (status == REDIS_OK));
    must((error != NULL) == (status == REDIS_ERROR));
    for (size_t i = 0; i < redis_value_count(value); i++)
        (void)redis_value_str(redis_value_at(value, i), NULL);
}

static void turn(struct redis_link *link) {
    for (int i = 0; i < TURNS; i++) {
        redis_link_flush(link);
        ev_run(loop, EVRUN_NOWAIT);
    }
}

static void ask(struct redis_link *link, struct limiter *limiter) {
    const char *const command[] = {"HGETALL", "rl:config"};
    const size_t lengths[] = {7, 9};
    for (size_t i = 0; i < config->policy_count; i++) {
        const struct policy *policy = &config->policies[i];
        asked++;
        limiter_decide(limiter, policy, "k", 1, 1, LIMITER_TAKE, on_decision, (void *)(uintptr_t)policy);
    }
    asked++;
    redis_link_command(link, 2, command, lengths, on_done, NULL);
}

/* The link before may have begun to connect anew. */
static void drop_strays(void) {
    for (int fd = accept(listener, NULL, NULL); fd >= 0; fd = accept(listener, NULL, NULL))
        close(fd);
}

static void greet(int fd) {
    char text[64];
    size_t count;
    const struct redis_script *const *scripts = decide_scripts(&count);
    for (size_t i = 0; i < count; i++) {
        int len = snprintf(text, sizeof text, "$40\r\n%s\r\n", scripts[i]->sha1);
        must(send(fd, text, (size_t)len, MSG_NOSIGNAL) == len);
    }
}

static void say(struct redis_link *link, int fd, struct input rest, size_t piece) {
    if (rest.len / piece > PIECES_MAX) piece = rest.len / PIECES_MAX + 1;
    while (rest.len > 0) {
        size_t len = rest.len < piece ? rest.len : piece;
        if (send(fd, rest.at, len, MSG_NOSIGNAL) != (ssize_t)len) return;
        rest.at += len;
        rest.len -= len;
        turn(link);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t script_count;
    const struct linger reset = {1, 0}; /* so that no port stays behind */
    struct input rest = input_of(data, size);
    size_t piece = input_byte(&rest) + 1;
    bool greeted = input_byte(&rest) % 4 != 0;
    if (listener < 0) setup();

    drop_strays();
    asked = answered = 0;
    const struct redis_script *const *scripts = decide_scripts(&script_count);
    struct redis_link *link = redis_link_new(loop, &settings, scripts, script_count, on_changed, NULL);
    struct limiter *limiter = limiter_new(link, local, "rl:");
    int fd = -1;
    while (fd < 0) {
        turn(link);
        fd = accept(listener, NULL, NULL);
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    turn(link);
    if (greeted) {
        greet(fd);
        while (redis_link_state(link) != REDIS_READY)
            turn(link);
    }
    ask(link, limiter);
    turn(link);
    say(link, fd, rest, piece);
    close(fd);
    turn(link);
    redis_link_free(link);
    must(answered == asked);
    limiter_free(limiter);
    return 0;
}
