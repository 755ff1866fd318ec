/* life.h -- the life of a jail: which state it is in and what may happen to it there.
 *
 *               executed              reaped
 *     STARTING ----------> LIVE          +------> SWEPT
 *        | |                | \          |          ^
 *        | |           kill |  \ reaped  |          |
 *        | +----------------+-> DYING ---+          |
 *        |       kill            ^  |  kill again   |
 *        |                       +--+               |
 *        +------------------------------------------+   reaped; or no process was ever made
 *
 *   state     what is true in it
 *   STARTING  pid 1 may exist; the kernel may not have been executed yet; the engine knows nothing
 *   LIVE      the kernel program runs; the engine has been told STARTED
 *   DYING     everything has been killed; waiting for pid 1 to be reapable
 *   SWEPT     no process is left and the engine has been told; a cgroup may still be emptying
 *
 * Pure bookkeeping: no I/O, so every path can be tested without a sandbox.
 */
#ifndef SPAWN_LIFE_H
#define SPAWN_LIFE_H

#include <stdbool.h>

enum life { LIFE_STARTING, LIFE_LIVE, LIFE_DYING, LIFE_SWEPT, LIFE_COUNT };

enum life_event { LIFE_EXECUTED, LIFE_KILL, LIFE_REAPED, LIFE_EVENTS };

/* Moves *life along an arrow. False, and nothing changed, when there is none: a jail that is dying is
 * not killed twice and does not come alive any more. */
bool life_step(enum life *life, enum life_event event);

#endif
