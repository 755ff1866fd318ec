/* landing.h -- a fetched file comes down in a directory here, under a name that a stranger chose.
 *
 * The name is a path; directories on the way are made. No link is followed and nothing outside the
 * directory is touched, whatever the name is and whatever lies there.
 */
#ifndef CLI_LANDING_H
#define CLI_LANDING_H

#include <stdbool.h>

struct err;
struct haul;
struct origin;

/* Fetches the version to `name` below `dir_fd` (download_file). Fails with ERR_INVALID for a name that
 * cannot be one here. */
int landing_take(struct haul *h, int dir_fd, const struct origin *from, const char *name,
                 bool *ret_is_new, struct err *e);

#endif
