/* The table of Redis's errors. docs/redis.md tells it to people, and a test compares the two. */
#include "redis/redis_fault.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 160 };

static const struct redis_fault faults[] = {
    {"LOADING", true, "it is reading its data"},
    {"BUSY", true, "somebody's script holds it up"},
    {"READONLY", true, "it is a replica; decisions need the master"},
    {"MASTERDOWN", true, "it is a replica that has lost its master"},
    {"NOREPLICAS", true, "fewer replicas follow it than its min-replicas-to-write asks for"},
    {"MISCONF", true, "it could not save its data and therefore takes no writes"},
    {"NOAUTH", true, "it wants a password: --redis-password-file or REDIS_PASSWORD"},
    {"WRONGPASS", true, "user or password is not right"},
    {"DENIED", true, "its protected mode serves nobody but its own machine"},
    {"max number of clients", true, "all its connections are taken: maxclients"},
    {"OOM", false, "its memory is full: see maxmemory and maxmemory-policy"},
    {"NOPERM", false, "its ACL does not let this user do that"},
    {"can't run this command", false, "its ACL does not let this user do that"},
    {"WRONGTYPE", false, "somebody else keeps something of another type at this key"},
    {"NOSCRIPT", false, "it lost the script and did not take its text"},
    {"EXECABORT", false, "a transaction was not carried out"},
    {"MOVED", false, "it is one node of a Redis Cluster, and the key belongs to another"},
    {"ASK", false, "it is one node of a Redis Cluster, and the key is on its way to another"},
    {"TRYAGAIN", false, "it is one node of a Redis Cluster, and the keys are on their way to another"},
    {"CROSSSLOT", false, "it is one node of a Redis Cluster, and the keys belong to several"},
    {"CLUSTERDOWN", false, "the Redis Cluster does not serve the key now"},
};
static const struct redis_fault other = {"ERR", false, NULL};

/* Is `code` a word of its own at `at`? */
static bool is_word(const char *at, const char *code) {
    size_t len = strlen(code);
    return strncmp(at, code, len) == 0 && (at[len] == '\0' || at[len] == ' ' || at[len] == ':');
}

/* Inside the text of an ERR a code counts after a blank, or after the dash that Redis 5 and 6 leave there. */
static bool contains(const char *error, const char *code) {
    for (const char *at = strstr(error, code); at; at = strstr(at + 1, code))
        if (at > error && (at[-1] == ' ' || at[-1] == '-') && is_word(at, code)) return true;
    return false;
}

const struct redis_fault *redis_fault_of(const char *error) {
    bool general = is_word(error, "ERR");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (general ? contains(error, faults[i].code) : is_word(error, faults[i].code)) return &faults[i];
    return &other;
}

/* Which of our scripts it was, and where, is of no use to whom the meaning is told. */
static int words_len(const char *error) {
    const char *script = strstr(error, " script: ");
    size_t len = script ? (size_t)(script - error) : strlen(error);
    return (int)(len < WORDS_MAX ? len : WORDS_MAX);
}

void redis_fault_describe(const char *error, char *out, size_t size) {
    const struct redis_fault *fault = redis_fault_of(error);
    if (fault->meaning)
        snprintf(out, size, "%.*s (%s)", words_len(error), error, fault->meaning);
    else
        snprintf(out, size, "%.200s", error);
}
