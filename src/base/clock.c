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
