/* reads.h -- which files a run has read, so that whatever it makes can be traced to them.
 *
 *     reads_begin()                  a run begins
 *     reads_open(dir, path, flags)   opens.c: something in this process opens a file
 *     reads_words(text, cwd)         children.c: a command line, a script: what a child may read
 *     reads_partial()                something happened that cannot be followed
 *     reads_end(&out)                a READS frame; the run is over
 *
 * Only files of the session count, and they are told by their path below /mnt/data (or, by hand and
 * without mounts, below the directory in which the first run began). The first thing that happens to a
 * path decides: what a run has emptied and written before it reads it, it has not read. Opening
 * for appending, or for writing without emptying, is reading too: what comes out depends on what was
 * there.
 *
 * Any thread may open files, with or without the GIL: nothing here waits for long. (Not in a handler of a
 * signal that interrupted malloc: this allocates; Python's own handlers open nothing.) Who
 * finds the list in use for some 30 ms gives up, and the list is partial. A forked child notes
 * nothing. errno stays what it was. Told is the kernel's word and nothing more: the engine checks that
 * these are paths, the service that there were such files.
 */
#ifndef KERNEL_READS_H
#define KERNEL_READS_H

#include <stddef.h>

#include "wire/frame.h"

void reads_begin(void);
void reads_end(struct buf *out);

/* Another process with the memory of an earlier one: where the files are has to be found anew. */
void reads_forget_place(void);

/* `flags` as open has them; `dir_fd` AT_FDCWD or a directory's. NULL is no path. */
void reads_open(int dir_fd, const char *path, int flags);

/* What is at `from` goes to `to`, or in the place of it. */
void reads_rename(const char *from, const char *to);

/* Every word of the text that names a regular file, seen from `cwd` (NULL: from where we are), may
 * be read by somebody else. Words end at spaces and at what shells and languages put around names. What
 * follows a single '>' is written. */
void reads_words(const char *text, size_t len, const char *cwd);

void reads_partial(void);

#endif
