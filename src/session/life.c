#include "session/life.h"

#include <assert.h>

#include "base/err.h"

/* The picture in life.h, arrow by arrow: 1 + the state it leads to, so that what is not listed, 0,
 * is no arrow. */
/* clang-format off */
static const int next[LIFE_COUNT][LIFE_EVENTS] = {
    [LIFE_EMPTY][LIFE_RISE]    = 1 + LIFE_RISING,
    [LIFE_EMPTY][LIFE_RESET]   = 1 + LIFE_EMPTY,
    [LIFE_EMPTY][LIFE_BACK]      = 1 + LIFE_ASLEEP,
    [LIFE_EMPTY][LIFE_CLOSE]   = 1 + LIFE_GONE,
    [LIFE_RISING][LIFE_UP]     = 1 + LIFE_IDLE,
    [LIFE_RISING][LIFE_SLEPT]  = 1 + LIFE_ASLEEP,
    [LIFE_RISING][LIFE_LOST]   = 1 + LIFE_EMPTY,
    [LIFE_IDLE][LIFE_BEGIN]    = 1 + LIFE_BUSY,
    [LIFE_IDLE][LIFE_REST]     = 1 + LIFE_RESTING,
    [LIFE_IDLE][LIFE_LOST]     = 1 + LIFE_EMPTY,
    [LIFE_IDLE][LIFE_RESET]    = 1 + LIFE_EMPTY,
    [LIFE_IDLE][LIFE_BACK]       = 1 + LIFE_ASLEEP,
    [LIFE_IDLE][LIFE_CLOSE]    = 1 + LIFE_GONE,
    [LIFE_BUSY][LIFE_END]      = 1 + LIFE_IDLE,
    [LIFE_BUSY][LIFE_LOST]     = 1 + LIFE_EMPTY,
    [LIFE_RESTING][LIFE_STAY]  = 1 + LIFE_IDLE,
    [LIFE_RESTING][LIFE_SLEPT] = 1 + LIFE_ASLEEP,
    [LIFE_RESTING][LIFE_LOST]  = 1 + LIFE_EMPTY,
    [LIFE_ASLEEP][LIFE_RISE]   = 1 + LIFE_RISING,
    [LIFE_ASLEEP][LIFE_RESET]  = 1 + LIFE_EMPTY,
    [LIFE_ASLEEP][LIFE_BACK]     = 1 + LIFE_ASLEEP,
    [LIFE_ASLEEP][LIFE_CLOSE]  = 1 + LIFE_GONE,
};
/* clang-format on */

static const char *const names[LIFE_COUNT] = {"empty",   "rising", "idle", "busy",
                                              "resting", "asleep", "gone"};

int life_step(enum life *life, enum life_event event, struct err *e)
{
    assert(*life < LIFE_COUNT);
    assert(event < LIFE_EVENTS);

    if (*life == LIFE_GONE)
        return err_set(e, ERR_NOT_FOUND, "the session was deleted");
    if (next[*life][event] == 0)
        return err_set(e, ERR_CONFLICT, "the session is %s", life_name(*life));
    *life = (enum life)(next[*life][event] - 1);
    return 0;
}

const char *life_name(enum life life)
{
    assert(life < LIFE_COUNT);
    return names[life];
}

bool life_has_kernel(enum life life)
{
    return life == LIFE_IDLE || life == LIFE_BUSY || life == LIFE_RESTING;
}

bool life_has_file(enum life life)
{
    return life == LIFE_ASLEEP;
}
