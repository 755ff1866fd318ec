/* capture_int.h -- what the files of a capture share: looking around, reading one file, type names.
 */
#ifndef SESSION_CAPTURE_INT_H
#define SESSION_CAPTURE_INT_H

#include <sys/stat.h>

#include "session/capture.h"

/* Walks the tree below `dir_fd` and writes what is there to *ret, sorted, without duplicates. What
 * could not be looked at goes to `missed`, unless that is NULL. */
int survey_take(int dir_fd, int64_t deadline_us, struct capture *missed, struct snapshot *ret,
                struct err *e);

void snapshot_sort(struct snapshot *s); /* and drops duplicates */

/* Adds to the list of what was missed; `reason` is static. */
int capture_miss(struct capture *c, const char *path, const char *reason, struct err *e);

/* What became of the attempt to read a file. */
enum reading {
    READING_DONE,
    READING_GONE,      /* there is no such file any more */
    READING_DENIED,    /* we may not, or the disk cannot */
    READING_TOO_LARGE, /* over CAPTURE_HASH_MAX */
    READING_RESTLESS,  /* it was changed while being read, twice */
    READING_BUSY,      /* somebody has a lease on it and has to give that back first */
    READING_LATE,      /* the time for the capture is used up */
    READING_LINK,      /* something else than a regular file is there by now */
    READING_ODD,
    READING_COUNT
};

/* Fills size and hash of file->path from below `dir_fd`. Unless the result is READING_DONE, only
 * the size may be filled. */
enum reading content_read(int dir_fd, int64_t deadline_us, struct captured_file *file);
const char *reading_reason(enum reading reading); /* not for DONE and GONE */

/* Whether two looks at an open file show the same state of it. */
bool content_is_same(const struct stat *a, const struct stat *b);

/* What a file is, by the ending of its name: "text/csv". Static, never NULL. */
const char *filetype_of(const char *path);

#endif
