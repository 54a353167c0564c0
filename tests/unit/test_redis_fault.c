/* Redis's errors are told apart by their first word, wherever a version of Redis puts it. */
#include "redis/redis_fault.h"

#include "unit/unit.h"

static const struct example {
    const char *error, *code;
    bool away;
} examples[] = {
    {"LOADING Redis is loading the dataset in memory", "LOADING", true},
    {"BUSY Redis is busy running a script.", "BUSY", true},
    {"READONLY You can't write against a read only replica.", "READONLY", true},
    {"READONLY You can't write against a read only replica. script: 0a, on @user_script:48.", "READONLY",
     true},
    {"ERR Error running script (call to f_0a): @user_script:1: -READONLY You can't write", "READONLY", true},
    {"MASTERDOWN Link with MASTER is down", "MASTERDOWN", true},
    {"NOREPLICAS Not enough good replicas to write.", "NOREPLICAS", true},
    {"MISCONF Redis is configured to save RDB snapshots", "MISCONF", true},
    {"NOAUTH Authentication required.", "NOAUTH", true},
    {"WRONGPASS invalid username-password pair", "WRONGPASS", true},
    {"DENIED Redis is running in protected mode", "DENIED", true},
    {"ERR max number of clients reached", "max number of clients", true},
    {"OOM command not allowed when used memory > 'maxmemory'.", "OOM", false},
    {"NOPERM this user has no permissions to run the 'eval' command", "NOPERM", false},
    {"ERR The user executing the script can't run this command or subcommand script: 0a",
     "can't run this command", false},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", "WRONGTYPE", false},
    {"NOSCRIPT No matching script.", "NOSCRIPT", false},
    {"EXECABORT Transaction discarded", "EXECABORT", false},
    {"MOVED 866 127.0.0.1:7001", "MOVED", false},
    {"ASK 866 127.0.0.1:7001", "ASK", false},
    {"TRYAGAIN Multiple keys request during rehashing of slot", "TRYAGAIN", false},
    {"CROSSSLOT Keys in request don't hash to the same slot", "CROSSSLOT", false},
    {"CLUSTERDOWN The cluster is down", "CLUSTERDOWN", false},
    {"ERR unknown command 'x', with args beginning with: 'rl:{READONLY}'", "ERR", false},
    {"ERR nothing:READONLY of it", "ERR", false},
    {"READONLYX is another word", "ERR", false},
    {"LOADING", "LOADING", true},
    {"x", "ERR", false},
    {"", "ERR", false},
};

START_TEST(errors_are_told_apart) {
    const struct redis_fault *fault = redis_fault_of(examples[_i].error);
    ck_assert_str_eq(fault->code, examples[_i].code);
    ck_assert_int_eq(fault->away, examples[_i].away);
}
END_TEST

START_TEST(a_description_has_both_words) {
    char words[REDIS_FAULT_WORDS], small[12], huge[1000];
    redis_fault_describe("OOM command not allowed", words, sizeof words);
    CHECK_CONTAINS(words, "OOM command not allowed");
    CHECK_CONTAINS(words, "maxmemory");
    redis_fault_describe("ERR what", words, sizeof words);
    ck_assert_str_eq(words, "ERR what");
    redis_fault_describe("OOM command not allowed", small, sizeof small);
    ck_assert_str_eq(small, "OOM command");
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    redis_fault_describe(huge, words, sizeof words);
    ck_assert_uint_lt(strlen(words), sizeof words - 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("redis_fault");
    TCase *tcase = tcase_create("table");
    tcase_add_loop_test(tcase, errors_are_told_apart, 0, (int)(sizeof examples / sizeof *examples));
    tcase_add_test(tcase, a_description_has_both_words);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
