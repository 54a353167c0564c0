/* Who the client is behind proxies: always the peer or an address that was written down, never one of a
 * trusted proxy while another stands to its left that is none; and its text is one spelling of an address.
 * Input: a byte that chooses the form, then the field. */
#include "fuzz.h"
#include "http/client_ip.h"
#include "http/forwarded.h"

static struct ip_blocks trusted;
static struct ip peer;

static void setup(void) {
    static const char *const blocks[] = {"127.0.0.1", "10.0.0.0/8", "2001:db8::/32"};
    struct ip_block block;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        must(ip_block_parse(blocks[i], strlen(blocks[i]), &block));
        ip_blocks_add(&trusted, &block);
    }
    must(ip_parse("127.0.0.1", 9, &peer));
}

static void check_text(const struct ip *ip) {
    char text[IP_TEXT_MAX], client[CLIENT_IP_TEXT_MAX];
    struct ip again;
    ip_text(ip, text);
    must(ip_parse(text, strlen(text), &again) && memcmp(&again, ip, sizeof again) == 0);
    client_ip_text(ip, CLIENT_IP_PREFIX, client);
    size_t len = strcspn(client, "/");
    must(ip_parse(client, len, &again));
    must(client[len] == '\0' || strcmp(client + len, "/64") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input rest = input_of(data, size);
    enum forwarded_form form = input_byte(&rest) % 2 ? FORWARDED_PAIRS : FORWARDED_LIST;
    struct ip node;
    struct ip_block block;
    if (trusted.count == 0) setup();

    struct ip client = forwarded_client(form, rest.at, rest.len, &peer, &trusted);
    check_text(&client);
    if (memcmp(&client, &peer, sizeof client) != 0) must(rest.len > 0);
    if (forwarded_node(rest.at, rest.len, &node)) {
        check_text(&node);
        struct ip alone = forwarded_client(FORWARDED_LIST, rest.at, rest.len, &peer, &trusted);
        must(memcmp(&alone, &node, sizeof node) == 0);
    }
    if (ip_parse(rest.at, rest.len, &node)) check_text(&node);
    if (ip_block_parse(rest.at, rest.len, &block)) {
        must(block.bits <= 128 && ip_block_has(&block, &block.ip));
        check_text(&block.ip);
    }
    return 0;
}
