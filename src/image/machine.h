/* machine.h -- what the kernel of the OS knows about this process, for struct machine. */
#ifndef IMAGE_MACHINE_H
#define IMAGE_MACHINE_H

#include "image/format.h"

/* Everything that stays the same for the life of the main thread. All but the registers, the end of
 * the heap and the signal handlers. 0, or minus the errno. Needs calls that sealing forbids. */
long machine_read(struct machine *m);

/* The rest: what may have changed since. */
void machine_refresh(struct machine *m);

#endif
