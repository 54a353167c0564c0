/* How many wrong tokens a client may try, with time passed in. */
#include "http/tries.h"

#include <stdio.h>

#include "base/decimal.h"
#include "unit.h"

#define NOW 5000000LL

static struct tries *tries;

static void setup(void) {
    tries = tries_new();
}

static void teardown(void) {
    tries_free(tries);
}

static void use_up(const char *client, int64_t now_us) {
    for (int i = 0; i < TRIES_BURST; i++) {
        ck_assert_int_eq(tries_wait(tries, client, now_us), 0);
        tries_count(tries, client, now_us);
    }
}

START_TEST(a_burst_then_one_a_second) {
    use_up("192.0.2.7", NOW);
    ck_assert_int_eq(tries_wait(tries, "192.0.2.7", NOW), MICRO);
    ck_assert_int_eq(tries_wait(tries, "192.0.2.7", NOW + 300000), 700000);
    ck_assert_int_eq(tries_wait(tries, "192.0.2.7", NOW + MICRO), 0);
    tries_count(tries, "192.0.2.7", NOW + MICRO);
    ck_assert_int_eq(tries_wait(tries, "192.0.2.7", NOW + MICRO), MICRO);
}
END_TEST

START_TEST(looking_takes_nothing) {
    for (int i = 0; i < 10 * TRIES_BURST; i++)
        ck_assert_int_eq(tries_wait(tries, "::1", NOW), 0);
    use_up("::1", NOW);
}
END_TEST

START_TEST(each_client_has_its_own) {
    use_up("192.0.2.7", NOW);
    use_up("192.0.2.8", NOW);
    use_up("2001:db8::/64", NOW);
    ck_assert_int_gt(tries_wait(tries, "192.0.2.8", NOW), 0);
}
END_TEST

START_TEST(many_clients_are_bounded) {
    char client[32];

    for (int i = 0; i < 2 * TRIES_CLIENTS_MAX; i++) {
        snprintf(client, sizeof client, "client-%d", i);
        tries_count(tries, client, NOW);
    }
    use_up("client-0", NOW); /* forgotten meanwhile, and so like a new one */
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tries");
    TCase *tcase = tcase_create("tries");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_burst_then_one_a_second);
    tcase_add_test(tcase, looking_takes_nothing);
    tcase_add_test(tcase, each_client_has_its_own);
    tcase_add_test(tcase, many_clients_are_bounded);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
