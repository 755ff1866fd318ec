/* signals.h -- signals while the kernel itself is at work.
 *
 * Their handlers are code of the session. They wait while our own bookkeeping goes on, and one that
 * came while nothing ran is not meant for what runs next.
 */
#ifndef KERNEL_SIGNALS_H
#define KERNEL_SIGNALS_H

#include <signal.h>

/* From now on only the signals of a crash get through. Returns the mask from before. */
sigset_t signals_hold(void);

/* The mask as it was before, except that an interrupt always gets through. */
void signals_let(sigset_t before);

/* Forgets what came while nothing ran. Needs the GIL. */
void signals_drop_stale(void);

#endif
