/* working.h -- the working copy that a session sees as /mnt/data, looked at from outside.
 *
 * It is a plain directory, or the upper layer of an overlay over directories that nobody changes:
 *
 *     DIR/data/      what the session changed; all there is when it is plain
 *     DIR/work/      overlayfs's own; only then
 *     lower[0..]     directories elsewhere, the first on top
 *
 * A *look* walks `data` and finds what differs from the look before: of a plain directory every file
 * is looked at, of an overlay only what the session touched, however many files lie below. Whoever
 * looks is given the paths that changed and reads their contents through here:
 *
 *     working_open(dir_fd, lowers, n, &w, e)
 *     ... a run ...
 *     working_look(w, &sink, &found, e)     sink.changed(path, fd ready to be read), sink.deleted(path)
 *
 * The tree belongs to hostile code that may be running at this very moment; the rules of capture.h
 * hold here too: openat2 beneath, never through links, regular files only, nothing blocks, all is
 * bounded, and what was not read is said with the reason.
 *
 * **What makes it sound.** A store through a shared mapping changes a file's times only when the page
 * was clean. So a file's pages are written back (sync_file_range, or fdatasync where that does not
 * clean them) before its stamp is taken; its stamp is taken before and after it is read; ctime counts,
 * so that forged times do not help; and what changed within the last tick of the clock is told again
 * next time, unless the file system gives every change a time of its own (Linux 6.13) and the inode is
 * still the same one. So a file may be told without having changed, but between two looks nothing can
 * change without being noticed, on any file system that writes pages back. (tmpfs does not.)
 *
 * One look at a time; not thread-safe. Blocks on disk.
 */
#ifndef SESSION_WORKING_H
#define SESSION_WORKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/capture.h"
#include "session/ignore.h"
#include "wire/jail.h"

struct working;

struct working_options {
    int dir_fd; /* DIR; borrowed only during the call, as are the lowers */
    const int *lower_fds;
    size_t lower_count;         /* 0: plain */
    struct ignore_rules ignore; /* must stay; empty: nothing is ignored */
    uint64_t file_max;          /* bytes of one file that are still read */
};

/* Nothing is known of it: the next look finds every file (of an overlay: that lies in `data`) changed.
 * Directories that are missing are made. */
int working_open(const struct working_options *options, struct working **ret, struct err *e);
void working_close(struct working *w); /* NULL is fine; nothing on disk goes away */

/* What the spawner is handed; borrowed from w. */
const struct jail_data *working_data(const struct working *w);

/* For every change; first all that were deleted. Non-zero ends the look, which fails with what is in *e:
 * then the next one tells everything again.
 *   changed: `fd` can be read from its start to `size`; it may grow or shrink meanwhile. Returns 0 and
 *            the look goes on; then `settled` tells how it was at the end, or `changed` comes again.
 *   settled: after `changed`: is_torn when it was written to while it was being read, each of the times
 *            it was tried; nothing otherwise. A file that changed meanwhile is given to `changed`
 *            again, up to WORKING_TRIES times, so forget the earlier one. One that is torn is told
 *            again by the next look.
 *   deleted: it is not there any more; of an overlay also what lay in a lower (a directory that was
 *            removed or replaced: every file of the lowers below it, one call each). */
struct working_sink {
    int (*changed)(void *arg, const char *path, int fd, uint64_t size, bool is_executable,
                   struct err *e);
    int (*settled)(void *arg, const char *path, bool is_torn, struct err *e);
    int (*deleted)(void *arg, const char *path, struct err *e);
    void *arg;
};

enum { WORKING_TRIES = 3 };

/* What could not be looked at or read is added to `ret->missed` (capture.h), also when the look fails;
 * the sink may add to it too. ret->files is left alone: the sink knows. The caller owns *ret, which began
 * as zeroes. */
int working_look(struct working *w, const struct working_sink *sink, struct capture *ret,
                 struct err *e);

/* Says that the file at `path` is just now what its owner knows (it was brought, or committed at
 * start): the next look does not report it unless it changes after this. */
int working_known(struct working *w, const char *path, struct err *e);
/* Says that what the last look told of `path` was not taken: the next one tells it again. */
void working_forget(struct working *w, const char *path);
/* working_known for everything there is; nobody runs. */
int working_all_known(struct working *w, struct err *e);

/* Takes away whiteouts with nothing below them, which would be seen in listings: the layers have changed.
 * Nobody runs. */
int working_tidy(struct working *w, struct err *e);

/* Bytes and files in `data`, as the last look saw them. */
void working_size(const struct working *w, uint64_t *ret_bytes, uint64_t *ret_files);

/* Copies `data` of one to that of another, whiteouts and all, for a session that branches; the
 * other is empty, and nobody runs in either. At most `size_max` bytes: ERR_LIMIT. */
int working_copy(struct working *from, struct working *to, uint64_t size_max, struct err *e);

#endif
