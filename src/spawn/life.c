#include "spawn/life.h"

#include <assert.h>

/* The picture in life.h, arrow by arrow. What is not listed is LIFE_STARTING, which no arrow leads
 * to, and therefore means "no such arrow". */
/* clang-format off */
static const enum life next[LIFE_COUNT][LIFE_EVENTS] = {
    [LIFE_STARTING][LIFE_EXECUTED] = LIFE_LIVE,
    [LIFE_STARTING][LIFE_KILL]     = LIFE_DYING,
    [LIFE_STARTING][LIFE_REAPED]   = LIFE_SWEPT,
    [LIFE_LIVE][LIFE_KILL]         = LIFE_DYING,
    [LIFE_LIVE][LIFE_REAPED]       = LIFE_SWEPT,
    [LIFE_DYING][LIFE_REAPED]      = LIFE_SWEPT,
};
/* clang-format on */

bool life_step(enum life *life, enum life_event event)
{
    assert(*life < LIFE_COUNT);
    assert(event < LIFE_EVENTS);

    enum life to = next[*life][event];
    if (to == LIFE_STARTING)
        return false;
    *life = to;
    return true;
}
