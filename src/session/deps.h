/* deps.h -- the files an image was made of: are they still what they were?
 *
 * An image holds a text of lines `seconds.nanoseconds size path` (src/image/format.h): mtime and
 * size of every file that was mapped or imported, and of every directory that was searched, with
 * size 0. Paths below DEPS_OWN are those of our own programs inside a jail; build ids speak for
 * them.
 */
#ifndef SESSION_DEPS_H
#define SESSION_DEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct names;

#define DEPS_OWN "/opt/cicada/"

enum {
    DEPS_LEN_MAX = 16 << 20, /* bytes of the text */
    DEPS_NAMED_MAX = 8,      /* changed files that are named; then it is enough */
};

/* One line taken apart. */
struct dep {
    int64_t mtime_s;
    uint32_t mtime_ns;
    uint64_t size;
    const char *path; /* absolute; borrowed from the text, ends with the line */
    size_t path_len;
};

/* The line at *at, and *at moves behind it. 1, 0 at the end of the text, -1 with ERR_DAMAGED. */
int dep_next(const char **at, const char *end, struct dep *ret, struct err *e);

/* Looks at them all; those that changed or are gone are added to `changed`, DEPS_NAMED_MAX by name.
 * *ret_elsewhere says whether one of them is outside the directories that Python imports from
 * (jail_libraries). Fails with ERR_DAMAGED or ERR_NO_MEMORY. Blocks on disk. */
int deps_check(const char *text, size_t len, struct names *changed, bool *ret_elsewhere,
               struct err *e);

#endif
