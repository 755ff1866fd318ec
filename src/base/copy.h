/* copy.h -- the content of one open file into another, in the cheapest way the two allow.
 *
 * The file system shares the blocks (FICLONE), or copies without bringing the bytes here
 * (copy_file_range), or they are read and written. Holes stay holes.
 */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdint.h>

/* Copies from the beginning of `from_fd` to that of `to_fd`, which is empty: `size` bytes, or fewer
 * if there are no more. Both are regular files; where they are read next is anywhere.
 * Returns 0 or -errno. Blocks on disk. */
int copy_content(int from_fd, int to_fd, uint64_t size, uint64_t *ret_len);

/* The same, but gives up with -ETIME some time after *until_us (base/clock.h), which another process may
 * move meanwhile. NULL: never. */
int copy_content_until(int from_fd, int to_fd, uint64_t size, const int64_t *until_us,
                       uint64_t *ret_len);

#endif
