/* bake.h -- writing this process down as an image. */
#ifndef IMAGE_BAKE_H
#define IMAGE_BAKE_H

#include <stddef.h>

#include "image/format.h"

/* Writes every private page to `fd`, an empty regular file, with `machine` (whose registers
 * context_save has filled) and the text `deps`. The process must have one thread and rest. Returns 0,
 * or minus an errno and *ret_step says at what. Uses no memory of the process but its stack. */
long bake_write(int fd, const struct machine *machine, const char *deps, size_t deps_len,
                const char **ret_step);

#endif
