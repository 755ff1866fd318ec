/* paths.h -- what a path in a workspace may look like.
 *
 * Relative, with '/' between components; valid UTF-8, kept as it is written (no normalisation); no
 * control characters, no empty, "." or ".." component, no magic: a backslash is a
 * character. A component has at most 255 bytes, a path PATH_BYTES_MAX and PATH_DEPTH_MAX components.
 */
#ifndef WORKSPACE_PATHS_H
#define WORKSPACE_PATHS_H

#include <stdbool.h>
#include <stddef.h>

struct err;

enum { PATH_DEPTH_MAX = 32, COMPONENT_BYTES_MAX = 255 };

/* Fails with ERR_INVALID and what is wrong with it. `ret` (PATH_BYTES_MAX + 1 bytes) gets the clean
 * form: a leading "/mnt/data/" or "/" and one trailing '/' are taken away, since people write them. */
int path_clean(const char *path, char *ret, struct err *e);

/* The same; NULL when it is fine, otherwise what is wrong, as the rest of a sentence about the path. */
const char *path_wrong(const char *path, char *ret);

/* Whether `path` fits: * and ? within a component, ** across them, [a-z]; case matters. Linear in
 * its input times the number of stars; never recursive. */
bool path_fits(const char *pattern, const char *path);

#endif
