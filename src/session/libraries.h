/* libraries.h -- a copy of the directories that Python imports from, as they are now.
 *
 * What a session imports late has to fit what its image holds, also when the host's libraries have been
 * upgraded since. So they are copied (images_keep_libraries), one directory of the copy for each of
 * jail_libraries (wire/jail.h), and a jail is shown the copy in their place.
 *
 * A copy has the names, times and content of the original: Python believes its compiled files by the
 * times of the source, and a sleeping session the libraries it had loaded by theirs. Everything in it
 * can be read by everybody and written by nobody, programs can be executed. Left out are directories
 * called "tests", a third of it all, and what others may not read. Links are copied as links. Not in
 * it are the shared libraries outside those directories: the names they are found by (libtiff.so.6)
 * change when they would no longer fit.
 *
 * Files that an older copy holds unchanged (size and times) are linked to it, so that a copy costs
 * what has changed. That is safe because nobody writes to them.
 */
#ifndef SESSION_LIBRARIES_H
#define SESSION_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct jail_library;

/* Asked now and then whether to go on. NULL: always. */
struct libraries_wish {
    bool (*goes_on)(void *arg);
    void *arg;
};

struct libraries_plan {
    const struct jail_library *list; /* what to copy; one that does not exist is passed over */
    size_t count;
    int to_fd;   /* an empty directory of ours */
    int like_fd; /* an older copy; -1: none */
    const struct libraries_wish *wish;
};

/* How many bytes of disk a copy takes that can link to nothing. Blocks on disk. */
int libraries_measure(const struct libraries_plan *plan, uint64_t *ret, struct err *e);

/* Makes the copy, and leaves it half done when it fails: ERR_UNAVAILABLE when it was not to go on, or
 * what the disk failed with. Nothing is synced. Blocks on disk. */
int libraries_copy(const struct libraries_plan *plan, struct err *e);

/* Fails with ERR_CONFLICT when something was changed, added or taken away after that time (as
 * clock_wall_us has it): then a copy made meanwhile may be half of the one and half of the other. */
int libraries_check_since(const struct libraries_plan *plan, int64_t since_wall_us, struct err *e);

#endif
