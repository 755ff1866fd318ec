/* pack_io.h -- the system calls with which packs write, as a table: tests have one that fails.
 *
 * Each is the call of that name. Reading is not in it: what a disk gives back is checked by hash.
 */
#ifndef STORE_PACK_IO_H
#define STORE_PACK_IO_H

#include <sys/types.h>
#include <sys/uio.h>

struct pack_io {
    int (*openat)(int dir_fd, const char *path, int flags, mode_t mode); /* that may create */
    int (*mkdirat)(int dir_fd, const char *path, mode_t mode);
    ssize_t (*pwritev)(int fd, const struct iovec *pieces, int count, off_t offset);
    int (*fdatasync)(int fd);
    int (*fsync)(int fd);
    int (*ftruncate)(int fd, off_t len);
    int (*unlinkat)(int dir_fd, const char *path, int flags);
    int (*sync_file_range)(int fd, off_t offset, off_t len, unsigned flags); /* may do nothing */
};

extern const struct pack_io pack_io_real;

#endif
