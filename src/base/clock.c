#include "base/clock.h"

#include <limits.h>
#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t); /* cannot fail for the clocks below */
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int clock_poll_ms(int64_t deadline_us)
{
    if (deadline_us == CLOCK_NEVER)
        return -1;
    int64_t left_us = deadline_us - clock_us();
    if (left_us <= 0)
        return 0;
    int64_t ms = (left_us + 999) / 1000;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Days from 1970 to the first of a month; years begin in March here, so that leap days come last. */
static int64_t first_of(int64_t year, int64_t month)
{
    int64_t y = month <= 2 ? year - 1 : year,
            of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;
    return y * 365 + y / 4 - y / 100 + y / 400 + of_year - 719468;
}

struct month clock_month(int year, int number)
{
    return (struct month){.year = year,
                          .number = number,
                          .first = first_of(year, number),
                          .next =
                              number == 12 ? first_of(year + 1, 1) : first_of(year, number + 1)};
}

struct month clock_month_of(int64_t day)
{
    int year = (int)(1970 + day / 366), number = 1; /* too early a year by a few, if at all */
    while (first_of(year + 1, 1) <= day)
        year++;
    while (number < 12 && first_of(year, number + 1) <= day)
        number++;
    return clock_month(year, number);
}
