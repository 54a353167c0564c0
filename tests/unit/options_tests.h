/* What the tests of the command line share: arguments and environment written as "a|b|c", and whether they
 * pass. */
#ifndef RL_TESTS_OPTIONS_TESTS_H
#define RL_TESTS_OPTIONS_TESTS_H

#include <stdio.h>

#include "app/options.h"
#include "unit.h"

enum { WORDS_MAX = 16, TEXT_MAX = 2048 };

static struct options options;
static struct err err;

/* Cuts "a|b|c" into a list that NULL ends; returns its length. */
static inline int split(const char *text, char copy[TEXT_MAX], char *list[WORDS_MAX]) {
    int count = 0;
    snprintf(copy, TEXT_MAX, "%s", text);
    for (char *word = *copy ? copy : NULL, *next; word; word = next) {
        next = strchr(word, '|');
        if (next) *next++ = '\0';
        list[count++] = word;
    }
    list[count] = NULL;
    return count;
}

/* Arguments and environment, each written as "a|b|c". */
static inline enum options_result parse(const char *arguments, const char *environment) {
    char argument_text[TEXT_MAX], environment_text[TEXT_MAX];
    char program[] = "ratelimitd", *argv[WORDS_MAX + 1] = {program}, *env[WORDS_MAX];
    int argc = 1 + split(arguments, argument_text, argv + 1);
    split(environment, environment_text, env);
    err = (struct err)ERR_INIT;
    return options_parse(&options, argc, argv, env, &err);
}

static inline void must_run(const char *arguments, const char *environment) {
    enum options_result result = parse(arguments, environment);
    ck_assert_msg(result == OPTIONS_RUN, "%s / %s: %s", arguments, environment, err.text);
    ck_assert_str_eq(err.text, "");
}

static inline void must_fail(const char *arguments, const char *environment, const char *words) {
    enum options_result result = parse(arguments, environment);
    ck_assert_msg(result == OPTIONS_BAD, "%s / %s passed", arguments, environment);
    CHECK_CONTAINS(err.text, words);
    ck_assert_msg(!strchr(err.text, '\n'), "more than one line: %s", err.text);
    options_free(&options);
}

#endif
