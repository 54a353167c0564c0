/* Reads commands of RESP, one connection at a time, and answers with fixed bytes. It executes nothing. */
#include "unit/stub_redis.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit/link_world.h"

/* Reads one command; its first word into `name`. */
static bool read_command(FILE *in, char name[32]) {
    char line[64];
    static char word[64 * 1024];
    if (!fgets(line, sizeof line, in) || line[0] != '*') return false;
    int count = atoi(line + 1);
    for (int i = 0; i < count; i++) {
        if (!fgets(line, sizeof line, in) || line[0] != '$') return false;
        size_t len = (size_t)atoi(line + 1);
        if (len + 2 > sizeof word || fread(word, 1, len + 2, in) != len + 2) return false;
        word[len] = '\0';
        if (i == 0) snprintf(name, 32, "%.31s", word);
    }
    return true;
}

static void answer(struct stub_redis *stub, int fd, const char *name) {
    char digest[64];
    bool handshake = strcmp(name, "SCRIPT") == 0;
    const char *reply = handshake ? stub->login : stub->reply;
    if (handshake && !reply) {
        snprintf(digest, sizeof digest, "$40\r\n%s\r\n", counting_script.sha1);
        reply = digest;
    }
    if (reply) send(fd, reply, strlen(reply), MSG_NOSIGNAL);
    if (stub->hang_up && !handshake) shutdown(fd, SHUT_RDWR);
}

static void *serve(void *arg) {
    struct stub_redis *stub = arg;
    for (;;) {
        int fd = accept(stub->fd, NULL, NULL);
        if (fd < 0) return NULL;
        int number = stub->accepts;
        if (number < STUB_ACCEPTS_MAX) stub->accepted_us[number] = clock_mono_us();
        stub->accepts = number + 1;
        FILE *in = fdopen(fd, "r");
        char name[32];
        while (read_command(in, name))
            answer(stub, fd, name);
        fclose(in);
    }
}

void stub_redis_start(struct stub_redis *stub) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    memset(stub, 0, sizeof *stub);
    stub->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(stub->fd, (struct sockaddr *)&at, len) != 0 || listen(stub->fd, 64) != 0 ||
        getsockname(stub->fd, (struct sockaddr *)&at, &len) != 0)
        abort();
    stub->port = ntohs(at.sin_port);
    if (pthread_create(&stub->thread, NULL, serve, stub) != 0) abort();
}

/* The link must be closed before: the thread reads a connection to its end. */
void stub_redis_stop(struct stub_redis *stub) {
    shutdown(stub->fd, SHUT_RDWR);
    pthread_join(stub->thread, NULL);
    close(stub->fd);
}
