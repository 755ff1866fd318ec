#include "base/clock.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static void the_clock_never_goes_back(void **state)
{
    (void)state;
    int64_t before = clock_us();
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_us();
        assert_true(now >= before);
        before = now;
    }
}

static void the_wall_clock_counts_from_1970_in_microseconds(void **state)
{
    (void)state;
    int64_t before = (int64_t)time(NULL);
    int64_t wall_us = clock_wall_us();
    int64_t after = (int64_t)time(NULL);
    /* time() reads a coarser clock, which may be a tick behind. */
    assert_true(wall_us / 1000000 >= before);
    assert_true(wall_us / 1000000 <= after + 1);
}

static void a_deadline_that_has_passed_is_no_wait(void **state)
{
    (void)state;
    assert_int_equal(clock_poll_ms(0), 0);
    assert_int_equal(clock_poll_ms(clock_us()), 0);
    assert_int_equal(clock_poll_ms(clock_us() - 1), 0);
}

static void a_deadline_that_never_comes_waits_for_ever(void **state)
{
    (void)state;
    assert_int_equal(clock_poll_ms(CLOCK_NEVER), -1);
}

/* Rounding down would make a caller spin through the last millisecond. */
static void the_wait_is_rounded_up(void **state)
{
    (void)state;
    int ms = clock_poll_ms(clock_us() + 3600 * 1000000LL);
    assert_in_range(ms, 3599000, 3600000);
    for (int i = 0; i < 100; i++) {
        int64_t deadline_us = clock_us() + 900000;
        ms = clock_poll_ms(deadline_us);
        int64_t left_us = deadline_us - clock_us();
        assert_true((int64_t)ms * 1000 >= left_us);
    }
}

static void a_deadline_further_than_poll_can_wait_is_cut(void **state)
{
    (void)state;
    assert_int_equal(clock_poll_ms(CLOCK_NEVER - 1), INT_MAX);
}

static void months_follow_each_other_through_leap_years(void **state)
{
    (void)state;
    int64_t day = 0;
    for (int year = 1970; year < 2110; year++) {
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        const int lengths[] = {31, is_leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        for (int i = 0; i < 12; i++) {
            struct month m = clock_month(year, i + 1);
            assert_int_equal(m.first, day);
            day += lengths[i];
            assert_int_equal(m.next, day);
            struct month last = clock_month_of(day - 1), first = clock_month_of(m.first);
            assert_true(last.year == year && last.number == i + 1 && last.first == m.first);
            assert_true(first.year == year && first.number == i + 1 && first.next == m.next);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_never_goes_back),
        cmocka_unit_test(the_wall_clock_counts_from_1970_in_microseconds),
        cmocka_unit_test(a_deadline_that_has_passed_is_no_wait),
        cmocka_unit_test(a_deadline_that_never_comes_waits_for_ever),
        cmocka_unit_test(the_wait_is_rounded_up),
        cmocka_unit_test(a_deadline_further_than_poll_can_wait_is_cut),
        cmocka_unit_test(months_follow_each_other_through_leap_years),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
