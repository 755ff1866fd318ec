/* graft.h -- applies a tree of changes to another tree.
 *
 * A tree of changes holds, at the paths they are for, regular files, and for what is to be removed a
 * whiteout: a character device 0:0, as overlayfs writes them. Directories in it stand for nothing but
 * the way.
 *
 * `to` may belong to hostile code that runs at this moment: nothing is followed, nothing outside is
 * ever touched, and what cannot be done (a directory with files where a file should be, a place that may
 * not be written to) is left out and counted. A file appears under its name in one step, whole; whoever has
 * the old one open keeps it. Modes are 0644 or 0755, whichever the change has; the time is the change's. One
 * link less, one copy: data is cloned where the file system can.
 */
#ifndef BASE_GRAFT_H
#define BASE_GRAFT_H

#include <stddef.h>
#include <stdint.h>

struct err;

enum graft_removal {
    GRAFT_UNLINK, /* a directory that a file, or a merged overlay, is seen in */
    GRAFT_WHITEOUT, /* the upper layer of an overlay that is not mounted: a whiteout takes its place */
};

struct graft_result {
    size_t put, removed;
    uint64_t bytes;       /* on disk, at most, of what was put; what it replaced is not taken off */
    uint64_t begun_bytes; /* the same with the file at hand, and with what failed */
    size_t failed;
    char first_failed[256]; /* path, cut; "" when none */
    int first_errno;
};

/* Fails only when `from` cannot be read or memory is out. Blocks on disk. *ret is at any time how far it
 * has come, also when it fails. */
int graft(int from_fd, int to_fd, enum graft_removal removal, struct graft_result *ret,
          struct err *e);

/* The same, but what is not done some time after *until_us is left out with ETIME, and nothing of it stays.
 * `until_us` and `ret` may be shared with another process. */
int graft_until(int from_fd, int to_fd, enum graft_removal removal, const int64_t *until_us,
                struct graft_result *ret, struct err *e);

#endif
