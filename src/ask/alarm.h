/* alarm.h -- a halt that comes by itself, at a time.
 *
 *     alarm_set(alarms, &alarm, at_us, halt)       halt_now(halt) is called then
 *     if (alarm_clear(alarms, &alarm)) ...         true: it was
 *
 * One thread for all of them, begun with the first.
 */
#ifndef ASK_ALARM_H
#define ASK_ALARM_H

#include <stdbool.h>
#include <stdint.h>

struct alarms;
struct err;
struct halt;

struct alarm { /* the caller's storage, until it is cleared */
    struct alarm *next;
    int64_t at_us; /* monotonic */
    struct halt *halt;
    bool is_set, has_rung;
};

int alarms_open(struct alarms **ret, struct err *e);
void alarms_close(struct alarms *all); /* NULL is fine; none is set any more */

int alarm_set(struct alarms *all, struct alarm *a, int64_t at_us, struct halt *halt, struct err *e);
/* Whether it has rung; also for one that was never set. Afterwards it does not. */
bool alarm_clear(struct alarms *all, struct alarm *a);

#endif
