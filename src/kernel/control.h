/* control.h -- the kernel's end of the socket to the engine.
 *
 * Any thread of a session may print or display, also one that goes on after its run has ended. So
 * everything here may be called from any thread, without the GIL, and may block:
 *
 *     control_tell      a frame that is not answered (RESULT, ERROR, DONE, ...)
 *     control_ask       a frame that is (SYNC, DISPLAY, CLEAR): returns after its ACK
 *     control_next      the main thread, idle: waits for the next RUN or ASK
 *
 * One thread at a time reads the socket, whichever needs something from it; it files what arrives
 * for the others and wakes them. ACKs come in the order in which they were asked for, so counting
 * them is enough.
 *
 * There is one control socket per process, and fork handlers take no argument: hence no object.
 * When the engine is gone there is nobody left to work for, and every function here ends the
 * process. A forked child has no control socket; there, telling and asking do nothing and return
 * false.
 */
#ifndef KERNEL_CONTROL_H
#define KERNEL_CONTROL_H

#include <stdbool.h>

#include "wire/frame.h"

struct err;

/* Takes over the socket, makes it close on exec and in forked children. */
int control_init(int fd, struct err *e);

bool control_is_ours(void); /* false in a forked child */

bool control_tell(const struct buf *frames);
bool control_ask(const struct buf *frame);
bool control_sync(void); /* asks SYNC */

/* Blocks until a RUN or ASK comes. The frame is valid until the next call. */
struct frame control_next(void);

#endif
