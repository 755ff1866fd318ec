/* delta.h -- what this process changed since it was started from its image.
 *
 * Both need a process that came from an image, with the image mapped read-only at BASE_START, one
 * thread, and at rest.
 */
#ifndef IMAGE_DELTA_H
#define IMAGE_DELTA_H

#include "image/format.h"

/* Writes a delta to `fd`, a pipe or a file. `machine` as for bake_write. Returns 0, or -1 and
 * *ret_why, a sentence for the session's owner. Uses no memory of the process but its stack, so the
 * process may also go on afterwards. */
int delta_write(int fd, const struct machine *machine, const char **ret_why);

/* Gives back pages that have become equal to the image's again: a third of them, as a rule, where
 * only a reference count went up and down. Returns how many, or minus the errno. */
long delta_trim(void);

#endif
