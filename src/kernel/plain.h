/* plain.h -- is this process nothing but its memory?
 *
 * Most sessions have no threads, children, timers, open files or shared memory between two runs. For
 * them a copy needs no preparation and nothing is put back afterwards, so rest.py, which would say the
 * same in half a millisecond and write to a hundred pages meanwhile, need not be asked.
 */
#ifndef KERNEL_PLAIN_H
#define KERNEL_PLAIN_H

#include <stdbool.h>

/* True when it is certain. Open may be: stdin on /dev/null, the engine's pipes as stdout and stderr,
 * the control socket, and `own_fd`. Some twenty system calls. */
bool plain_is(int own_fd);

#endif
