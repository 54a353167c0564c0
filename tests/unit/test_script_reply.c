/* Which numbers of a script's reply are believed: those that a script can say. */
#include "limit/script_reply.h" /* before hiredis, whose macros share a name or two with it */

#include <hiredis/hiredis.h>

#include "unit/unit.h"

static const struct {
    const char *reply;
    bool believed;
} replies[] = {
    {"*4\r\n:1700000000000000\r\n:0\r\n:9\r\n:1000000\r\n", true},
    {"*4\r\n:0\r\n:0\r\n:0\r\n:0\r\n", true},
    {"*4\r\n:9000000000000000\r\n:1261440000000000\r\n:10\r\n:1261440000000000\r\n", true},
    {"*4\r\n:9000000000000001\r\n:0\r\n:9\r\n:1\r\n", false},
    {"*4\r\n:9223372036854775807\r\n:0\r\n:9\r\n:1\r\n", false},
    {"*4\r\n:1700000000000000\r\n:1261440000000001\r\n:9\r\n:1\r\n", false},
    {"*4\r\n:1700000000000000\r\n:9223372036854775807\r\n:9\r\n:1\r\n", false},
    {"*4\r\n:1700000000000000\r\n:0\r\n:9\r\n:1261440000000001\r\n", false},
    {"*4\r\n:1700000000000000\r\n:0\r\n:9\r\n:9223372036854775807\r\n", false},
    {"*4\r\n:1700000000000000\r\n:0\r\n:11\r\n:1\r\n", false}, /* more than ever fits */
    {"*4\r\n:-1\r\n:0\r\n:9\r\n:1\r\n", false},
    {"*4\r\n:1\r\n:-1\r\n:9\r\n:1\r\n", false},
    {"*4\r\n:1\r\n:0\r\n:-1\r\n:1\r\n", false},
    {"*4\r\n:1\r\n:0\r\n:9\r\n:-1\r\n", false},
    {"*4\r\n:1\r\n:0\r\n:9\r\n$1\r\n1\r\n", false},
    {"*3\r\n:1\r\n:0\r\n:9\r\n", false},
    {"*7\r\n:1\r\n:0\r\n:9\r\n:1\r\n:0\r\n:9\r\n:1\r\n", false},
};

START_TEST(only_what_a_script_can_say_is_believed) {
    struct limit_settings limit;
    struct decision decision;
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    limit_settings_default(&limit, algorithms[0]);
    limit.params[0] = 10000000;
    redisReaderFeed(reader, replies[_i].reply, strlen(replies[_i].reply));
    ck_assert_int_eq(redisReaderGetReply(reader, &reply), REDIS_OK);
    ck_assert_ptr_nonnull(reply);
    ck_assert_int_eq(script_reply_read(reply, &limit, 1, 0, &decision), replies[_i].believed);
    freeReplyObject(reply);
    redisReaderFree(reader);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("script_reply");
    TCase *tcase = tcase_create("numbers");
    tcase_add_loop_test(tcase, only_what_a_script_can_say_is_believed, 0, COUNT(replies));
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
