/* clock.h -- what time it is, and how long until a deadline.
 *
 * Deadlines are points on the monotonic clock in microseconds: they survive a change of the wall
 * clock and can be handed down through any number of calls without being recomputed.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_NEVER INT64_MAX /* a deadline that does not come */

int64_t clock_us(void);      /* monotonic, since some point in the past */
int64_t clock_wall_us(void); /* since 1970, UTC */

/* A month of the calendar, UTC. Days are counted since 1970. */
struct month {
    int year, number;    /* 1 to 12 */
    int64_t first, next; /* its first day, and that of the month after it */
};
struct month clock_month(int year, int number);
struct month clock_month_of(int64_t day); /* from 1970 on */

/* The wait for poll(2) until `deadline_us`: rounded up, 0 when it has passed, -1 for CLOCK_NEVER. */
int clock_poll_ms(int64_t deadline_us);

#endif
