/* control.h -- the kernel's end of the socket to the engine.
 *
 * Any thread of a session may print or display, also one that goes on after its run has ended. So
 * everything here may be called from any thread, without the GIL, and may block:
 *
 *     control_tell      a frame that is not answered (RESULT, ERROR, DONE, ...)
 *     control_ask       a frame that is (SYNC, DISPLAY, CLEAR): returns after its ACK
 *     control_next      the main thread, idle: waits for the next request, which is any other frame
 *
 * One thread at a time reads the socket, whichever needs something from it; it files what arrives
 * for the others and wakes them. ACKs come in the order in which they were asked for, so counting
 * them is enough. Requests that nobody waits for yet are kept, up to CONTROL_REQUESTS_MAX.
 *
 * There is one control socket per process, and fork handlers take no argument: hence no object.
 * When the engine is gone there is nobody left to work for, and every function here ends the
 * process. A forked child has no control socket; there, telling and asking do nothing and return
 * false.
 *
 * A process that starts from an image, wakes or is a copy has the memory of another one, but a
 * socket of its own: it calls control_init again, and nothing of what was before counts.
 */
#ifndef KERNEL_CONTROL_H
#define KERNEL_CONTROL_H

#include <stdbool.h>

#include "wire/frame.h"

struct err;

enum { CONTROL_REQUESTS_MAX = 4 };

struct request {
    struct frame frame; /* valid until the next control_next */
    int fd;             /* came with it and belongs to the caller; -1 if none */
};

/* Takes over the socket, makes it close on exec and in forked children. Forgets everything about a
 * socket it had before, without closing it. Only while the process has one thread. */
int control_init(int fd, struct err *e);

bool control_is_ours(void); /* false in a forked child */
int control_fd(void);       /* the socket's number; -1 in a forked child */

/* In a process that is no kernel any more and was not made by fork(): as in a forked child from now on.
 * The socket itself is the caller's to close. */
void control_leave(void);

/* While it is mute, telling and asking succeed without a word being sent: for code that is run only
 * to have been run. Streams (stream.h) keep quiet too. */
void control_mute(bool is_mute);
bool control_is_mute(void);

bool control_tell(const struct buf *frames);

/* The same, but together with the next frame, which the caller knows will follow: the engine is woken
 * once. */
bool control_tell_later(const struct buf *frames);
bool control_ask(const struct buf *frame);
bool control_sync(void); /* asks SYNC */

/* Blocks until a request comes. A descriptor that came with a kind of frame that has none, or that
 * is not the first with its frame, is closed. */
struct request control_next(void);

/* True as soon as there is something to read, false when `ms` milliseconds have passed without. */
bool control_wait(int ms);

#endif
