/* What every C test's main() needs: run one suite of the check framework and give the exit status.
 * It holds no test and knows nothing of what is tested. */
#ifndef RL_TESTS_UNIT_H
#define RL_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"

/* Frees the suite. tests/run.mjs reads the line of totals that CK_NORMAL prints. */
static inline int unit_main(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    int ran = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A bounded text (pointer and length) against a C string. */
#define CHECK_TEXT(data, len, expected)                                                                      \
    do {                                                                                                     \
        const char *check_text_ = (data);                                                                    \
        int check_len_ = (int)(len);                                                                         \
        const char *check_expected_ = (expected);                                                            \
        ck_assert_msg((size_t)check_len_ == strlen(check_expected_) &&                                       \
                          memcmp(check_text_, check_expected_, (size_t)check_len_) == 0,                     \
                      "got \"%.*s\", expected \"%s\"", check_len_, check_text_, check_expected_);            \
    } while (0)

/* An error text must tell a person what to do: this checks that a word of it is there. */
#define CHECK_CONTAINS(text, part)                                                                           \
    do {                                                                                                     \
        const char *check_text_ = (text);                                                                    \
        const char *check_part_ = (part);                                                                    \
        ck_assert_msg(strstr(check_text_, check_part_) != NULL, "\"%s\" does not contain \"%s\"",            \
                      check_text_, check_part_);                                                             \
    } while (0)

#endif
