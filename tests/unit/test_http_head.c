/* The check of heads, on memory as libmicrohttpd leaves it. Over sockets:
 * tests/integration/http_raw.test.mjs. */
#include "http/http_head.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* Does to a copy what libmicrohttpd does: line ends, first colons and the spaces of the first line become
 * NUL. The copy is as large as the head, so that a sanitizer sees what reads beyond. */
static unsigned check(const char *text, size_t len, size_t fields, bool *chunked) {
    char *copy = malloc(len);
    struct http_head head = {.bytes = copy, .size = len, .fields = fields};
    const struct http_fault *fault;
    bool in_name = false;

    memcpy(copy, text, len);
    head.target = (char *)memchr(copy, ' ', len) + 1;
    head.version = (char *)memchr(head.target, ' ', len - (size_t)(head.target - copy)) + 1;
    head.target_len = (size_t)(head.version - head.target) - 1;
    copy[head.target - copy - 1] = copy[head.version - copy - 1] = '\0';
    for (size_t i = 0; i < len; i++) {
        bool end = copy[i] == '\n';

        if (in_name && copy[i] == ':') copy[i] = '\0', in_name = false;
        if (!end) continue;
        copy[i] = '\0';
        if (i > 0 && copy[i - 1] == '\r') copy[i - 1] = '\0';
        in_name = true;
    }
    fault = http_head_check(&head, chunked);
    free(copy);
    return fault ? fault->status : 0;
}

#define CHECK(text, fields) check(text, sizeof(text) - 1, fields, &chunked)

START_TEST(takes_what_is_in_order) {
    bool chunked = true;

    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1), 0);
    ck_assert(!chunked);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.0\r\n\r\n", 0), 0);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost:\r\nX:\t a b \xff\r\n\r\n", 2), 0);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a \t \r\nX: \t \r\nExpect: 100-continue \t\r\n\r\n", 3),
                      0);
    ck_assert_uint_eq(CHECK("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 2), 0);
    ck_assert(chunked);
}
END_TEST

START_TEST(refuses_what_is_not) {
    bool chunked;

    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\n\r\n", 0), 400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\nHost: a\n\n", 1), 400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.0\n\n", 0), 400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\r\n\n", 1), 400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 1), 400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n", 1), 400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\0\0b\0c\r\n\r\n", 1), 400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 1), 400);
    ck_assert_uint_eq(CHECK("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 1), 400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-length: 1\r\n\r\n", 3),
                      400);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n", 2), 501);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\n\r\n", 2), 501);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 2), 417);
    ck_assert_uint_eq(CHECK("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 2), 400);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("http_head");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, takes_what_is_in_order);
    tcase_add_test(tcase, refuses_what_is_not);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
