/* The text of a client's address: one spelling an address, IPv6 by prefix; who is on this machine, who
 * trusted. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "http/client_ip.h"

static const struct {
    const char *address;
    unsigned prefix;
    const char *text;
} texts[] = {
    {"192.0.2.7", 64, "192.0.2.7"},
    {"192.0.2.7", 1, "192.0.2.7"}, /* the prefix is of IPv6 alone */
    {"0.0.0.0", 64, "0.0.0.0"},
    {"::ffff:192.0.2.7", 64, "192.0.2.7"},
    {"64:ff9b::192.0.2.7", 64, "192.0.2.7"},
    {"64:ff9b::192.0.2.7", 128, "192.0.2.7"},
    {"64:ff9b:1::1", 64, "64:ff9b:1::/64"},
    {"2001:db8:0:1::1", 64, "2001:db8:0:1::/64"},
    {"2001:DB8:0:1:ffff:ffff:ffff:ffff", 64, "2001:db8:0:1::/64"},
    {"2001:db8:0:2::1", 64, "2001:db8:0:2::/64"},
    {"2001:db8:ffff:ffff:1:2:3:4", 64, "2001:db8:ffff:ffff::/64"},
    {"2001:db8:1:ff77::1", 56, "2001:db8:1:ff00::/56"},
    {"2001:db8:1:2::1", 48, "2001:db8:1::/48"},
    {"2001:db8:1:2::1", 61, "2001:db8:1::/61"},
    {"ffff::1", 1, "8000::/1"},
    {"2001:db8::1", 127, "2001:db8::/127"},
    {"2001:db8::1", 128, "2001:db8::1"}, /* whole */
    {"fe80::1", 64, "fe80::/64"},
    {"::1", 64, "::1"},
    {"::1", 128, "::1"},
    {"::2", 64, "::/64"},
};

START_TEST(one_text_a_client) {
    char text[CLIENT_IP_TEXT_MAX];
    struct ip ip;

    ck_assert(ip_parse(texts[_i].address, strlen(texts[_i].address), &ip));
    client_ip_text(&ip, texts[_i].prefix, text);
    ck_assert_str_eq(text, texts[_i].text);
}
END_TEST

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
        return address;
    }
    ck_assert_int_eq(inet_pton(AF_INET6, text, &address.ipv6.sin6_addr), 1);
    address.ipv6.sin6_family = AF_INET6;
    return address;
}

static const struct {
    const char *peer;
    bool loopback, trusted;
} peers[] = {
    {"127.0.0.1", true, false},           {"127.255.0.9", true, false},
    {"::ffff:127.0.0.1", true, false},    {"::1", true, true},
    {"64:ff9b::127.0.0.1", false, false}, /* from the network, whatever it says */
    {"64:ff9b::10.0.0.1", false, false},  {"10.0.0.1", false, true},
    {"::ffff:10.0.0.1", false, true},     {"11.0.0.1", false, false},
    {"::10.0.0.1", false, false},
};

START_TEST(loopback_and_trusted_peers) {
    union address peer = address_of(peers[_i].peer);
    struct client_ip_settings settings = {.ipv6_prefix = 64};
    struct ip_block block;

    ck_assert(!client_ip_trusted(&peer.any, &settings));
    ck_assert(ip_block_parse("10.0.0.0/8", 10, &block));
    ip_blocks_add(&settings.trusted, &block);
    ck_assert(ip_block_parse("::1", 3, &block));
    ip_blocks_add(&settings.trusted, &block);
    ck_assert_int_eq(client_ip_loopback(&peer.any), peers[_i].loopback);
    ck_assert_int_eq(client_ip_trusted(&peer.any, &settings), peers[_i].trusted);
    ip_blocks_free(&settings.trusted);
}
END_TEST

START_TEST(other_families_are_nobody) {
    union address address = {.local = {.sun_family = AF_UNIX}};
    struct client_ip_settings settings = {.ipv6_prefix = 64};

    ck_assert(!client_ip_loopback(&address.any));
    ck_assert(!client_ip_trusted(&address.any, &settings));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("client_ip");
    TCase *tcase = tcase_create("client_ip");

    tcase_add_loop_test(tcase, one_text_a_client, 0, COUNT(texts));
    tcase_add_loop_test(tcase, loopback_and_trusted_peers, 0, COUNT(peers));
    tcase_add_test(tcase, other_families_are_nobody);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
