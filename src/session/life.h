/* life.h -- the life of a session: which state it is in and what may happen to it there.
 *
 * Pure bookkeeping. The session does the work and tells this one what came of it.
 *
 *                rise          up           begin
 *       EMPTY --------> RISING ----> IDLE <=======> BUSY
 *         ^               ^  |        |  ^    end
 *         |          rise |  |   rest |  | stay
 *         | lost          |  | slept  v  |
 *   (from RISING, IDLE,  ASLEEP <--- RESTING           close: EMPTY, IDLE, ASLEEP ----> GONE
 *    BUSY, RESTING)           slept                    reset: EMPTY, IDLE, ASLEEP ----> EMPTY
 *                                                      back:  EMPTY, IDLE, ASLEEP ----> ASLEEP
 *
 *   state    what is true in it                                        entered in
 *   EMPTY    no kernel, no file: the next run begins with nothing      session_new, _restart, death
 *   RISING   a kernel is started or woken; a file is still there       session_rise
 *   IDLE     a kernel answers, no file; may be put to sleep            session_rise, session_run
 *   BUSY     it runs code, answers a question, is copied               session_run, session_ask
 *   RESTING  it is being written down; it lives until that is durable  session_sleep
 *   ASLEEP   a whole, durable file; no process, no memory              session_sleep, _find, _rollback
 *   GONE     nothing is left of it                                     session_delete
 */
#ifndef SESSION_LIFE_H
#define SESSION_LIFE_H

#include <stdbool.h>

struct err;

enum life {
    LIFE_EMPTY,
    LIFE_RISING,
    LIFE_IDLE,
    LIFE_BUSY,
    LIFE_RESTING,
    LIFE_ASLEEP,
    LIFE_GONE,
    LIFE_COUNT
};

enum life_event {
    LIFE_RISE,
    LIFE_UP,
    LIFE_BEGIN,
    LIFE_END,
    LIFE_REST,
    LIFE_STAY,
    LIFE_SLEPT,
    LIFE_LOST,
    LIFE_RESET,
    LIFE_CLOSE,
    LIFE_BACK, /* a snapshot is its file now */
    LIFE_EVENTS
};

/* Moves *life along an arrow. An event without an arrow changes nothing and fails with
 * ERR_CONFLICT, or ERR_NOT_FOUND if it is GONE. */
int life_step(enum life *life, enum life_event event, struct err *e);

const char *life_name(enum life life); /* "asleep" */
bool life_has_kernel(enum life life);
bool life_has_file(enum life life);

#endif
