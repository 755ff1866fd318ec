/* ignore.h -- the names that nobody wants back: caches, and what was not finished.
 *
 * A pattern is compared with the name of a file or directory, not with its path: * stands for any
 * number of bytes, ? for one, everything else for itself.
 */
#ifndef SESSION_IGNORE_H
#define SESSION_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

struct ignore_rules {
    const char *const *patterns;
    size_t count;
};

extern const struct ignore_rules ignore_defaults; /* __pycache__, .cache, ?*.pyc, ... */

bool ignore_fits(const struct ignore_rules *rules, const char *name);

/* Whether any of the names in the path is ignored. */
bool ignore_fits_path(const struct ignore_rules *rules, const char *path);

#endif
