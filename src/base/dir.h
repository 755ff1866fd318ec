/* dir.h -- directories that strangers may change while they are read.
 *
 * below_open is the only way in: one openat2 that stays below the directory it starts from, follows
 * no link of any kind, enters no other mount and never waits for the far end of a FIFO. A `struct
 * dir` then reads one directory, entry by entry, and can be left and taken up again at a place.
 *
 *     int fd = below_open(at, "plots", O_RDONLY | O_DIRECTORY);      negative: -errno
 *     dir_init(&d, fd);                                              d owns fd now
 *     for (const struct dirent64 *entry; (entry = dir_next(&d));) ...
 *     dir_done(&d);
 */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

enum { DIR_CHUNK = 4096 }; /* small, because walkers hold many: about 100 entries */

struct dir {
    int fd;         /* owned; -1: closed */
    int error;      /* errno that ended the reading early; 0: none */
    int64_t resume; /* for dir_seek: the place after the entry given out last */
    size_t at, len; /* in chunk */
    _Alignas(struct dirent64) char chunk[DIR_CHUNK];
};

/* Opens `path` below `dir_fd` with O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK and O_NOCTTY added. Returns
 * the descriptor or -errno: -ELOOP for a link on the way, -EXDEV for a way out. */
int below_open(int dir_fd, const char *path, int flags);

/* The same for a directory to be read, without leaving a trace in its access time where that is
 * allowed. */
int below_open_dir(int dir_fd, const char *path);

/* The directory above the open directory `dir_fd`, on the same mount; or -errno. Nothing says that
 * it is the one it was entered from: compare inodes. */
int above_open_dir(int dir_fd);

void dir_init(struct dir *d, int fd);
void dir_done(struct dir *d);

/* The next entry but "." and "..", borrowed until the next call; NULL at the end, or when the
 * directory cannot be read on (d->error). */
const struct dirent64 *dir_next(struct dir *d);

void dir_seek(struct dir *d, int64_t place); /* 0: the beginning */

#endif
