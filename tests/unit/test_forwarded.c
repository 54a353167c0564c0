/* Who the client is behind trusted proxies: every spelling of a node, the walk from the right, and that
 * nothing a client writes moves it. */
#include "unit/unit.h"

#include <stdio.h>

#include "http/forwarded.h"

#define PEER "10.0.0.1"

/* `address` NULL: no node. */
static const struct {
    const char *text, *address;
} nodes[] = {
    {"203.0.113.5", "203.0.113.5"},
    {"203.0.113.5:40001", "203.0.113.5"},
    {"203.0.113.5:0", "203.0.113.5"},
    {"203.0.113.5:_hidden", "203.0.113.5"},
    {"2001:db8::1", "2001:db8::1"},
    {"2001:DB8::1", "2001:db8::1"},
    {"2001:0db8:0:0:0:0:0:1", "2001:db8::1"},
    {"2001:db8::0:1", "2001:db8::1"},
    {"[2001:db8::1]", "2001:db8::1"},
    {"[2001:db8::1]:40001", "2001:db8::1"},
    {"[2001:db8::1]:_p", "2001:db8::1"},
    {"2001:db8::1%eth0", "2001:db8::1"},
    {"[fe80::1%25eth0]:80", "fe80::1"},
    {"::ffff:203.0.113.5", "203.0.113.5"},
    {"[::ffff:203.0.113.5]:9", "203.0.113.5"},
    {"::1", "::1"},
    {"", NULL},
    {"unknown", NULL},
    {"_hidden", NULL},
    {"_hidden:80", NULL},
    {"example.com", NULL},
    {"203.0.113.5:", NULL},
    {"203.0.113.5:123456", NULL},
    {"203.0.113.5:8a", NULL},
    {"203.0.113.5:-1", NULL},
    {"203.0.113.5:_", NULL},
    {"203.0.113.5 :80", NULL},
    {"203.0.113.5/32", NULL},
    {"203.0.113", NULL},
    {"203.0.113.005", NULL},
    {"203.0.113.5%eth0", NULL},
    {":80", NULL},
    {"[203.0.113.5]", NULL},
    {"[203.0.113.5]:80", NULL},
    {"[]", NULL},
    {"[", NULL},
    {"]", NULL},
    {"[2001:db8::1", NULL},
    {"2001:db8::1]", NULL},
    {"[2001:db8::1]80", NULL},
    {"[2001:db8::1]:", NULL},
    {"[2001:db8::1]]", NULL},
    {"[[2001:db8::1]]", NULL},
    {"2001:db8::1%", NULL},
    {"2001:db8::1%e h", NULL},
    {"::ffff:203.0.113.5:80", NULL},
    {"\"203.0.113.5\"", NULL},
    {"203.0.113.5\x01", NULL},
};

static void check_ip(const struct ip *ip, const char *expected, const char *what) {
    char shown[IP_TEXT_MAX];

    ip_text(ip, shown);
    ck_assert_msg(strcmp(shown, expected) == 0, "%s: got %s, expected %s", what, shown, expected);
}

START_TEST(spellings_of_a_node) {
    const char *text = nodes[_i].text;
    struct ip ip;
    bool ok = forwarded_node(text, strlen(text), &ip);

    ck_assert_msg(ok == (nodes[_i].address != NULL), "\"%s\"", text);
    if (ok) check_ip(&ip, nodes[_i].address, text);
}
END_TEST

/* Trusted are 10.0.0.0/8 and 2001:db8:ffff::/48; the peer is 10.0.0.1. */
static struct ip_blocks trusted;
static struct ip peer;

static void trust(void) {
    static const char *const texts[] = {"10.0.0.0/8", "2001:db8:ffff::/48"};
    struct ip_block block;

    for (size_t i = 0; i < COUNT(texts); i++) {
        ck_assert(ip_block_parse(texts[i], strlen(texts[i]), &block));
        ip_blocks_add(&trusted, &block);
    }
    ck_assert(ip_parse(PEER, strlen(PEER), &peer));
}

static void distrust(void) {
    ip_blocks_free(&trusted);
}

/* In memory of its exact size, so that a sanitizer sees a byte too far. */
static void check_client(enum forwarded_form form, const char *text, const char *expected) {
    size_t len = strlen(text);
    char *exact = malloc(len ? len : 1);
    memcpy(exact, text, len);
    struct ip client = forwarded_client(form, exact, len, &peer, &trusted);
    free(exact);
    check_ip(&client, expected, text);
}

static const struct {
    const char *text, *client;
} lists[] = {
    {"", PEER},
    {"203.0.113.5", "203.0.113.5"},
    {" 203.0.113.5 ", "203.0.113.5"},
    {"\t203.0.113.5\t", "203.0.113.5"},
    {"203.0.113.5:40001", "203.0.113.5"},
    {"[2001:db8::1]:40001", "2001:db8::1"},
    /* the first that is not trusted, from the right */
    {"203.0.113.5, 10.0.0.2", "203.0.113.5"},
    {"203.0.113.5,10.0.0.3,10.0.0.2", "203.0.113.5"},
    {"203.0.113.5, 2001:db8:ffff::9, 10.0.0.2", "203.0.113.5"},
    {"203.0.113.5, [2001:db8:ffff::9]:80, 10.0.0.2:81", "203.0.113.5"},
    {"203.0.113.5, ::ffff:10.0.0.2", "203.0.113.5"},
    {"203.0.113.5, 64:ff9b::10.0.0.2", "64:ff9b::a00:2"}, /* translated: not the private one */
    /* what stands left of it is the client's own writing */
    {"198.51.100.7, 203.0.113.5", "203.0.113.5"},
    {"10.0.0.9, 203.0.113.5", "203.0.113.5"},
    {"127.0.0.1, 203.0.113.5, 10.0.0.2", "203.0.113.5"},
    {"garbage, \", [, ;=, 203.0.113.5", "203.0.113.5"},
    {"\"quoted, 203.0.113.5", "203.0.113.5"},
    {",,,,,203.0.113.5", "203.0.113.5"},
    {"\x01\xff, 203.0.113.5", "203.0.113.5"},
    /* all trusted: the one farthest away */
    {"10.0.0.2", "10.0.0.2"},
    {"10.0.0.9, 10.0.0.2", "10.0.0.9"},
    /* what is no address ends the walk */
    {"garbage", PEER},
    {"unknown", PEER},
    {"203.0.113.5, unknown", PEER},
    {"203.0.113.5, garbage, 10.0.0.2", "10.0.0.2"},
    {"203.0.113.5, 203.0.113.6 10.0.0.2", PEER},
    {"203.0.113.5; 10.0.0.2", PEER},
    {"203.0.113.5, \"10.0.0.2\"", PEER},
    {"for=203.0.113.5", PEER},
    /* empty entries say nothing */
    {"203.0.113.5,", "203.0.113.5"},
    {"203.0.113.5, , ,", "203.0.113.5"},
    {"203.0.113.5, , 10.0.0.2", "203.0.113.5"},
    {",", PEER},
    {" ", PEER},
};

START_TEST(x_forwarded_for) {
    check_client(FORWARDED_LIST, lists[_i].text, lists[_i].client);
}
END_TEST

static const struct {
    const char *text, *client;
} pairs[] = {
    {"", PEER},
    {"for=203.0.113.5", "203.0.113.5"},
    {"For=203.0.113.5", "203.0.113.5"},
    {"FOR=\"203.0.113.5\"", "203.0.113.5"},
    {"for=\"203.0.113.5:47011\"", "203.0.113.5"},
    {"for=203.0.113.5:47011", "203.0.113.5"},
    {"for=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"},
    {"for=\"[2001:db8:cafe::17]\"", "2001:db8:cafe::17"},
    {"for=[2001:db8:cafe::17]", "2001:db8:cafe::17"},
    {"for=\"2001:db8::1\"", "2001:db8::1"},
    {"for=\"203.0.1\\13.5\"", "203.0.113.5"}, /* an escaped character is itself */
    {"for=203.0.113.5;proto=http;by=203.0.113.43", "203.0.113.5"},
    {"proto=https;for=203.0.113.5", "203.0.113.5"},
    {"proto=https ; for=203.0.113.5 ;; by=_x ;", "203.0.113.5"},
    {"host=\"a,b;c\";for=203.0.113.5", "203.0.113.5"},
    {"host=\"a\\\",b\";for=203.0.113.5", "203.0.113.5"},
    {"host=\"\\\\\";for=203.0.113.5", "203.0.113.5"},
    {"host=example.com:8080;for=203.0.113.5", "203.0.113.5"},
    {"host=\"\";for=203.0.113.5", "203.0.113.5"},
    /* from the right */
    {"for=203.0.113.5, for=10.0.0.2", "203.0.113.5"},
    {"for=203.0.113.5,for=\"[2001:db8:ffff::9]\",for=10.0.0.2;proto=http", "203.0.113.5"},
    {"for=198.51.100.7, for=203.0.113.5", "203.0.113.5"},
    {"for=198.51.100.7;host=\"x, for=203.0.113.5", "203.0.113.5"},
    {"for=\", for=203.0.113.5", "203.0.113.5"},
    {"for=\"\\, for=203.0.113.5", "203.0.113.5"},
    {"\", for=\"[2001:db8::1]\"", "2001:db8::1"},
    {"for=\"x\\\", for=\"[2001:db8::1]\"", "2001:db8::1"},
    {"garbage, for=203.0.113.5", "203.0.113.5"},
    {"for=203.0.113.5, , ", "203.0.113.5"},
    {"for=10.0.0.9, for=10.0.0.2", "10.0.0.9"},
    /* what tells of no address ends the walk */
    {"for=unknown", PEER},
    {"for=_hidden", PEER},
    {"for=\"_hidden:_port\"", PEER},
    {"for=203.0.113.5, for=unknown", PEER},
    {"for=203.0.113.5, for=_x, for=10.0.0.2", "10.0.0.2"},
    {"for=203.0.113.5, proto=http", PEER},
    {"proto=http", PEER},
    {"for=203.0.113.5;for=203.0.113.6", PEER},
    {"for=203.0.113.5;For=203.0.113.5", PEER},
    {"for", PEER},
    {"for=", PEER},
    {"for =203.0.113.5", PEER},
    {"for= 203.0.113.5", PEER},
    {"for=\"\"", PEER},
    {"for=\"203.0.113.5", PEER},
    {"for=203.0.113.5\"", PEER},
    {"for=\"203.0.113.5\"x", PEER},
    {"for=\"203.0.113.5\\", PEER},
    {"for=203.0.113.5 proto=http", PEER},
    {"203.0.113.5", PEER},
    {"=203.0.113.5", PEER},
    {"xfor=203.0.113.5", PEER},
    {"\"for\"=203.0.113.5", PEER},
    {"\"", PEER},
    {"\\", PEER},
    {";", PEER},
};

START_TEST(forwarded) {
    check_client(FORWARDED_PAIRS, pairs[_i].text, pairs[_i].client);
}
END_TEST

/* Whatever a client writes in front, what the proxy added behind it decides. */
START_TEST(nothing_in_front_moves_the_client) {
    static const char alphabet[] = "\",;=\\[]: f1.%\t_";
    unsigned state = 1;

    for (int round = 0; round < 20000; round++) {
        char text[96], front[32];
        size_t len = 0;

        for (state = state * 1103515245u + 12345u; len < (state >> 16) % (sizeof front - 1); len++) {
            state = state * 1103515245u + 12345u;
            front[len] = alphabet[(state >> 16) % (sizeof alphabet - 1)];
        }
        front[len] = '\0';
        snprintf(text, sizeof text, "%s, 203.0.113.5, 10.0.0.2", front);
        check_client(FORWARDED_LIST, text, "203.0.113.5");
        snprintf(text, sizeof text, "%s, for=203.0.113.5, for=\"10.0.0.2:80\"", front);
        check_client(FORWARDED_PAIRS, text, "203.0.113.5");
    }
}
END_TEST

START_TEST(long_chains_are_not_followed_for_ever) {
    char text[4096] = "203.0.113.5";
    size_t len = strlen(text);

    for (int i = 0; i < FORWARDED_ENTRIES_MAX - 1; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, ",10.0.1.%d", i);
    check_client(FORWARDED_LIST, text, "203.0.113.5");
    len += (size_t)snprintf(text + len, sizeof text - len, ",10.0.2.1");
    check_client(FORWARDED_LIST, text, "10.0.1.0"); /* the last that was reached */
}
END_TEST

START_TEST(a_value_has_a_longest_length) {
    char text[512];

    for (size_t len = 1; len < 400; len++) {
        memset(text, 'x', sizeof text);
        memcpy(text, "for=203.0.113.5;host=\"", 22);
        snprintf(text + 22 + len, sizeof text - 22 - len, "\"");
        check_client(FORWARDED_PAIRS, text, len <= 320 ? "203.0.113.5" : PEER);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("forwarded");
    TCase *tcase = tcase_create("forwarded");

    tcase_add_checked_fixture(tcase, trust, distrust);
    tcase_add_loop_test(tcase, spellings_of_a_node, 0, COUNT(nodes));
    tcase_add_loop_test(tcase, x_forwarded_for, 0, COUNT(lists));
    tcase_add_loop_test(tcase, forwarded, 0, COUNT(pairs));
    tcase_add_test(tcase, nothing_in_front_moves_the_client);
    tcase_add_test(tcase, long_chains_are_not_followed_for_ever);
    tcase_add_test(tcase, a_value_has_a_longest_length);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
