/* Who may have one more connection. */
#include "app/admission.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "unit.h"

static const struct sockaddr *address(const char *text) {
    static struct sockaddr_storage storage;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;

    memset(&storage, 0, sizeof storage);
    storage.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
    ck_assert_int_eq(inet_pton(storage.ss_family, text,
                               strchr(text, ':') ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr),
                     1);
    return (struct sockaddr *)&storage;
}

START_TEST(counts_by_address_and_prefix) {
    struct ip_blocks trusted = {NULL, 0};
    struct ip_block proxy;
    struct admission *admission;

    ck_assert(ip_block_parse("192.0.2.9", 9, &proxy));
    ip_blocks_add(&trusted, &proxy);
    admission = admission_new(&(struct admission_settings){100, 2, &trusted, 64});
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(admission_enter(admission, address("192.0.2.1"), 0), ADMISSION_YES);
    ck_assert_int_eq(admission_enter(admission, address("192.0.2.1"), 0), ADMISSION_CROWD);
    ck_assert_int_eq(admission_enter(admission, address("192.0.2.2"), 0), ADMISSION_YES);
    admission_leave(admission, address("192.0.2.1"));
    ck_assert_int_eq(admission_enter(admission, address("192.0.2.1"), 0), ADMISSION_YES);
    ck_assert_int_eq(admission_enter(admission, address("2001:db8::1"), 0), ADMISSION_YES);
    ck_assert_int_eq(admission_enter(admission, address("2001:db8::2"), 0), ADMISSION_YES);
    ck_assert_int_eq(admission_enter(admission, address("2001:db8::3"), 0), ADMISSION_CROWD);
    ck_assert_int_eq(admission_enter(admission, address("2001:db8:0:1::3"), 0), ADMISSION_YES);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(admission_enter(admission, address("192.0.2.9"), 0), ADMISSION_YES);
    admission_free(admission);
    ip_blocks_free(&trusted);
}
END_TEST

START_TEST(keeps_a_reserve_for_this_machine) {
    const struct ip_blocks trusted = {NULL, 0};
    struct admission *admission = admission_new(&(struct admission_settings){10, 0, &trusted, 64});

    ck_assert_int_eq(admission_enter(admission, address("192.0.2.1"), 9), ADMISSION_YES);
    ck_assert_int_eq(admission_enter(admission, address("192.0.2.1"), 10), ADMISSION_FULL);
    ck_assert_int_eq(admission_enter(admission, address("127.0.0.1"), 10), ADMISSION_RESERVED);
    ck_assert_int_eq(admission_enter(admission, address("::1"), 10 + ADMISSION_RESERVE - 1),
                     ADMISSION_RESERVED);
    ck_assert_int_eq(admission_enter(admission, address("127.0.0.1"), 10 + ADMISSION_RESERVE),
                     ADMISSION_FULL);
    admission_free(admission);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("admission");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, counts_by_address_and_prefix);
    tcase_add_test(tcase, keeps_a_reserve_for_this_machine);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
