/* The text of a client's address: one spelling an address, IPv6 by prefix. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "http/client_ip.h"

union address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
    struct sockaddr_un local;
};

static union address address_of(const char *text) {
    union address address = {0};

    if (inet_pton(AF_INET, text, &address.ipv4.sin_addr) == 1) {
        address.ipv4.sin_family = AF_INET;
        address.ipv4.sin_port = htons(4711);
        return address;
    }
    ck_assert_int_eq(inet_pton(AF_INET6, text, &address.ipv6.sin6_addr), 1);
    address.ipv6.sin6_family = AF_INET6;
    address.ipv6.sin6_port = htons(4711);
    address.ipv6.sin6_scope_id = 3;
    return address;
}

static const struct {
    const char *peer, *text;
    bool loopback;
} cases[] = {
    {"192.0.2.7", "192.0.2.7", false},
    {"127.0.0.1", "127.0.0.1", true},
    {"127.255.0.9", "127.255.0.9", true},
    {"128.0.0.1", "128.0.0.1", false},
    {"0.0.0.0", "0.0.0.0", false},
    {"::ffff:192.0.2.7", "192.0.2.7", false},
    {"::ffff:127.0.0.1", "127.0.0.1", true},
    {"64:ff9b::192.0.2.7", "192.0.2.7", false},
    {"64:ff9b::127.0.0.1", "127.0.0.1", false}, /* from the network, whatever it says */
    {"64:ff9b:1::1", "64:ff9b:1::/64", false},
    {"2001:db8:0:1::1", "2001:db8:0:1::/64", false},
    {"2001:DB8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64", false},
    {"2001:db8:0:2::1", "2001:db8:0:2::/64", false},
    {"2001:db8:ffff:ffff:1:2:3:4", "2001:db8:ffff:ffff::/64", false},
    {"fe80::1", "fe80::/64", false},
    {"::1", "::1", true},
    {"::2", "::/64", false},
};

START_TEST(text_and_loopback) {
    union address address = address_of(cases[_i].peer);
    char text[CLIENT_IP_TEXT_MAX];

    client_ip_text(&address.any, text, sizeof text);
    ck_assert_str_eq(text, cases[_i].text);
    ck_assert_int_eq(client_ip_loopback(&address.any), cases[_i].loopback);
}
END_TEST

START_TEST(other_families_are_one_client) {
    union address address = {.local = {.sun_family = AF_UNIX}};
    char text[CLIENT_IP_TEXT_MAX];

    client_ip_text(&address.any, text, sizeof text);
    ck_assert_str_eq(text, "unknown");
    ck_assert(!client_ip_loopback(&address.any));
}
END_TEST

START_TEST(small_buffer_is_not_overrun) {
    union address address = address_of("2001:db8:0:1::1");
    char text[9] = "########";

    client_ip_text(&address.any, text, 4);
    ck_assert_str_eq(text, "200");
    ck_assert_str_eq(text + 4, "####");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("client_ip");
    TCase *tcase = tcase_create("client_ip");

    tcase_add_loop_test(tcase, text_and_loopback, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tcase, other_families_are_one_client);
    tcase_add_test(tcase, small_buffer_is_not_overrun);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
