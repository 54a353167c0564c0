/* Answers that wait for their turn: places, order, and the end of all of them. */
#include "http/hold.h"

#include <ev.h>

#include "base/clock.h"
#include "unit.h"

enum { ENDS_MAX = 8 };

static struct ev_loop *loop;
static struct hold *hold;
static int ends, order[ENDS_MAX];
static bool due[ENDS_MAX];
static int64_t at_us[ENDS_MAX];

static void setup(void) {
    loop = ev_loop_new(EVFLAG_AUTO);
    hold = hold_new(loop, 3);
    ends = 0;
}

static void teardown(void) {
    hold_free(hold);
    ev_loop_destroy(loop);
}

static void on_end(void *arg, bool is_due) {
    int *number = arg;
    order[ends] = *number;
    due[ends] = is_due;
    at_us[ends++] = clock_mono_us();
}

static int numbers[] = {0, 1, 2};

START_TEST(ends_when_due_in_the_order_of_their_turns) {
    static const int64_t waits_us[] = {60000, 20000, 40000};
    int64_t begin_us = clock_mono_us();
    for (int i = 0; i < 3; i++) {
        ck_assert(hold_reserve(hold));
        hold_until(hold, waits_us[i], on_end, &numbers[i]);
    }
    ck_assert_int_eq(ends, 0);
    ev_run(loop, 0); /* until no timer is left */
    ck_assert_int_eq(ends, 3);
    static const int right[] = {1, 2, 0};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(order[i], right[i]);
        ck_assert(due[i]);
        /* libev counts in doubles of seconds: a microsecond may be lost. */
        ck_assert_int_ge(at_us[i] - begin_us, waits_us[right[i]] - 1);
    }
}
END_TEST

/* The loop's idea of the time is old when it was busy: a turn counted from there would come early. */
START_TEST(no_turn_comes_early_after_a_busy_moment) {
    ev_now_update(loop);
    for (int64_t busy_until = clock_mono_us() + 30000; clock_mono_us() < busy_until;) {
    }
    int64_t begin_us = clock_mono_us();
    ck_assert(hold_reserve(hold));
    hold_until(hold, 20000, on_end, &numbers[0]);
    ev_run(loop, 0);
    ck_assert_int_ge(at_us[0] - begin_us, 20000 - 1);
}
END_TEST

START_TEST(places_are_counted) {
    for (int i = 0; i < 3; i++)
        ck_assert(hold_reserve(hold));
    ck_assert(!hold_reserve(hold));
    hold_release(hold);
    ck_assert(hold_reserve(hold));
    hold_until(hold, 1, on_end, &numbers[0]);
    ck_assert(!hold_reserve(hold));
    ev_run(loop, 0);
    ck_assert_int_eq(ends, 1);
    ck_assert(hold_reserve(hold)); /* its place is free again */
    ck_assert(!hold_reserve(hold));
}
END_TEST

START_TEST(a_stop_ends_all_and_holds_nothing_more) {
    for (int i = 0; i < 3; i++)
        ck_assert(hold_reserve(hold));
    hold_until(hold, 10000000, on_end, &numbers[0]);
    hold_until(hold, 20000000, on_end, &numbers[1]);
    hold_stop(hold);
    ck_assert_int_eq(ends, 2);
    ck_assert(!due[0] && !due[1]);
    hold_until(hold, 1, on_end, &numbers[2]); /* a decision that was on its way */
    ck_assert_int_eq(ends, 3);
    ck_assert(!due[2]);
    ck_assert(!hold_reserve(hold));
    ev_run(loop, 0);
    ck_assert_int_eq(ends, 3);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {ends_when_due_in_the_order_of_their_turns,
                                  no_turn_comes_early_after_a_busy_moment, places_are_counted,
                                  a_stop_ends_all_and_holds_nothing_more};
    TCase *group = tcase_create("hold");
    tcase_add_checked_fixture(group, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(group, tests[i]);
    Suite *suite = suite_create("hold");
    suite_add_tcase(suite, group);
    return unit_main(suite);
}
