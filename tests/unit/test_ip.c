/* Addresses and blocks: what is read, what a block holds, one text an address. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/ip.h"

/* `canonical` NULL: no address. */
static const struct {
    const char *text, *canonical;
    bool ipv4, loopback;
} addresses[] = {
    {"192.0.2.7", "192.0.2.7", true, false},
    {"0.0.0.0", "0.0.0.0", true, false},
    {"255.255.255.255", "255.255.255.255", true, false},
    {"127.0.0.1", "127.0.0.1", true, true},
    {"127.255.0.9", "127.255.0.9", true, true},
    {"128.0.0.1", "128.0.0.1", true, false},
    {"::ffff:192.0.2.7", "192.0.2.7", true, false},
    {"::FFFF:c000:207", "192.0.2.7", true, false},
    {"::ffff:127.0.0.1", "127.0.0.1", true, true},
    {"::1", "::1", false, true},
    {"::", "::", false, false},
    {"::2", "::2", false, false},
    {"2001:DB8:0:0:0:0:0:1", "2001:db8::1", false, false},
    {"2001:0db8::0001", "2001:db8::1", false, false},
    {"64:ff9b::192.0.2.7", "64:ff9b::c000:207", false, false},
    {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", false, false},
    {"", NULL, false, false},
    {"192.0.2", NULL, false, false},
    {"192.0.2.7.1", NULL, false, false},
    {"192.0.2.256", NULL, false, false},
    {"192.0.2.07", NULL, false, false},
    {"0300.0.2.7", NULL, false, false},
    {"0xc0.0.2.7", NULL, false, false},
    {"3221225991", NULL, false, false},
    {" 192.0.2.7", NULL, false, false},
    {"192.0.2.7 ", NULL, false, false},
    {"192.0.2.7:80", NULL, false, false},
    {"+1.2.3.4", NULL, false, false},
    {"-1.2.3.4", NULL, false, false},
    {"1..2.3", NULL, false, false},
    {"[::1]", NULL, false, false},
    {"fe80::1%eth0", NULL, false, false},
    {":::", NULL, false, false},
    {"1::2::3", NULL, false, false},
    {"12345::", NULL, false, false},
    {"1:2:3:4:5:6:7", NULL, false, false},
    {"1:2:3:4:5:6:7:8:9", NULL, false, false},
    {"localhost", NULL, false, false},
    {"0000:0000:0000:0000:0000:0000:0000:0000:0000:0001", NULL, false, false},
};

START_TEST(addresses_are_read_strictly) {
    struct ip ip;
    const char *text = addresses[_i].text;
    bool ok = ip_parse(text, strlen(text), &ip);

    ck_assert_msg(ok == (addresses[_i].canonical != NULL), "\"%s\"", text);
    if (!ok) return;
    char shown[IP_TEXT_MAX];
    ip_text(&ip, shown);
    ck_assert_str_eq(shown, addresses[_i].canonical);
    ck_assert_int_eq(ip_is_ipv4(&ip), addresses[_i].ipv4);
    ck_assert_int_eq(ip_is_loopback(&ip), addresses[_i].loopback);
}
END_TEST

START_TEST(only_the_given_bytes_are_read) {
    struct ip ip;

    ck_assert(ip_parse("192.0.2.77", 9, &ip));
    char shown[IP_TEXT_MAX];
    ip_text(&ip, shown);
    ck_assert_str_eq(shown, "192.0.2.7");
    ck_assert(!ip_parse("192.0.2.7\0", 10, &ip));
    ck_assert(!ip_parse("::1\0x", 5, &ip));
}
END_TEST

START_TEST(sockets_of_either_family) {
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(4711)};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(4711), .sin6_scope_id = 3};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    char shown[IP_TEXT_MAX];
    struct ip ip;

    inet_pton(AF_INET, "192.0.2.7", &ipv4.sin_addr);
    inet_pton(AF_INET6, "fe80::1", &ipv6.sin6_addr);
    ck_assert(ip_of_socket((struct sockaddr *)&ipv4, &ip));
    ip_text(&ip, shown);
    ck_assert_str_eq(shown, "192.0.2.7");
    ck_assert(ip_of_socket((struct sockaddr *)&ipv6, &ip));
    ip_text(&ip, shown);
    ck_assert_str_eq(shown, "fe80::1");
    ck_assert(!ip_of_socket((struct sockaddr *)&local, &ip));
}
END_TEST

/* `has` NULL: no block. */
static const struct {
    const char *block, *has, *has_not;
} blocks[] = {
    {"192.0.2.7", "192.0.2.7", "192.0.2.8"},
    {"192.0.2.7/32", "::ffff:192.0.2.7", "192.0.2.6"},
    {"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
    {"10.0.0.0/8", "10.0.0.0", "9.255.255.255"},
    {"192.0.2.128/25", "192.0.2.255", "192.0.2.127"},
    {"192.0.2.4/31", "192.0.2.5", "192.0.2.6"},
    {"0.0.0.0/0", "203.0.113.9", "2001:db8::1"},
    {"0.0.0.0/0", "0.0.0.0", "::1"},
    {"::/0", "2001:db8::1", "203.0.113.9"},
    {"::/0", "::1", "127.0.0.1"},
    {"::1", "::1", "::2"},
    {"2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"},
    {"2001:DB8::/32", "2001:db8::", "2001:db7:ffff::"},
    {"2001:db8:0:10::/60", "2001:db8:0:1f::1", "2001:db8:0:20::"},
    {"2001:db8::1/128", "2001:db8::1", "2001:db8::2"},
    {"::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.0"},
    {"64:ff9b::/96", "64:ff9b::1", "0.0.0.1"},
    {"10.1.2.3/8", NULL, NULL},
    {"192.0.2.1/31", NULL, NULL},
    {"2001:db8::1/64", NULL, NULL},
    {"::ffff:10.0.0.0/8", NULL, NULL},
    {"10.0.0.0/33", NULL, NULL},
    {"::/129", NULL, NULL},
    {"10.0.0.0/", NULL, NULL},
    {"10.0.0.0/08", NULL, NULL},
    {"10.0.0.0/-1", NULL, NULL},
    {"10.0.0.0/+8", NULL, NULL},
    {"10.0.0.0/ 8", NULL, NULL},
    {"10.0.0.0/8 ", NULL, NULL},
    {"10.0.0.0/8/8", NULL, NULL},
    {"10.0.0.0/255.0.0.0", NULL, NULL},
    {"10.0.0.0/4294967304", NULL, NULL},
    {"10/8", NULL, NULL},
    {"/8", NULL, NULL},
    {"", NULL, NULL},
    {"*", NULL, NULL},
    {"example.com", NULL, NULL},
};

static struct ip ip_of(const char *text) {
    struct ip ip;

    ck_assert_msg(ip_parse(text, strlen(text), &ip), "\"%s\"", text);
    return ip;
}

START_TEST(blocks_hold_what_they_say) {
    const char *text = blocks[_i].block;
    struct ip_block block;
    bool ok = ip_block_parse(text, strlen(text), &block);

    ck_assert_msg(ok == (blocks[_i].has != NULL), "\"%s\"", text);
    if (!ok) return;
    struct ip inside = ip_of(blocks[_i].has), outside = ip_of(blocks[_i].has_not);
    ck_assert_msg(ip_block_has(&block, &inside), "%s in %s", blocks[_i].has, text);
    ck_assert_msg(!ip_block_has(&block, &outside), "%s in %s", blocks[_i].has_not, text);
}
END_TEST

START_TEST(several_blocks) {
    struct ip_blocks list = {NULL, 0};
    struct ip inside = ip_of("10.1.2.3"), other = ip_of("2001:db8::1"), outside = ip_of("192.0.2.7");
    struct ip_block block;

    ck_assert(!ip_blocks_have(&list, &inside));
    ck_assert(ip_block_parse("10.0.0.0/8", 10, &block));
    ip_blocks_add(&list, &block);
    ck_assert(ip_block_parse("2001:db8::/32", 13, &block));
    ip_blocks_add(&list, &block);
    ck_assert(ip_blocks_have(&list, &inside));
    ck_assert(ip_blocks_have(&list, &other));
    ck_assert(!ip_blocks_have(&list, &outside));
    ip_blocks_free(&list);
    ck_assert(!ip_blocks_have(&list, &inside));
}
END_TEST

START_TEST(every_prefix_length_cuts_there) {
    for (unsigned bits = 0; bits <= 128; bits++) {
        struct ip ip;

        memset(&ip, 0xff, sizeof ip);
        ip_cut(&ip, bits);
        for (unsigned i = 0; i < 128; i++)
            ck_assert_int_eq(ip.bytes[i / 8] >> (7 - i % 8) & 1, i < bits);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ip");
    TCase *tcase = tcase_create("ip");

    tcase_add_loop_test(tcase, addresses_are_read_strictly, 0, COUNT(addresses));
    tcase_add_test(tcase, only_the_given_bytes_are_read);
    tcase_add_test(tcase, sockets_of_either_family);
    tcase_add_loop_test(tcase, blocks_hold_what_they_say, 0, COUNT(blocks));
    tcase_add_test(tcase, several_blocks);
    tcase_add_test(tcase, every_prefix_length_cuts_there);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
