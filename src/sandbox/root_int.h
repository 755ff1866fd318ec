/* root_int.h -- mounts that are nowhere yet, for the files that make a session's file system. */
#ifndef SANDBOX_ROOT_INT_H
#define SANDBOX_ROOT_INT_H

#include <stddef.h>

#include "sandbox/root.h"

/* A mount of each of these directories of the host, in one visit there. The caller closes them; on
 * failure there are none. */
int root_clone(const struct root *r, const int *dir_fds, size_t count, int *ret_fds, struct err *e);

/* Sets attributes of such a mount, MOUNT_ATTR_*, and maps ids if `idmap_fd` is not -1. Fails with
 * ERR_UNAVAILABLE where the file system cannot do that. */
int root_restrict(int mount_fd, uint64_t attributes, int idmap_fd, const char *what, struct err *e);

#endif
