#include "base/copy.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"

enum { COPY_CHUNK = 64 << 10, COPY_STEP_MAX = 64 << 20 };

/* Shares the blocks of the whole file, if it is not longer than wanted. */
static bool share(int from_fd, int to_fd, uint64_t size, uint64_t *ret_len)
{
    struct stat from, to;
    if (fstat(from_fd, &from) || (uint64_t)from.st_size > size)
        return false;
    if (ioctl(to_fd, FICLONE, from_fd) || fstat(to_fd, &to))
        return false;
    bool has_grown = (uint64_t)to.st_size > size; /* just now */
    *ret_len = has_grown ? size : (uint64_t)to.st_size;
    return !has_grown || ftruncate(to_fd, (off_t)size) == 0;
}

static bool is_late(const int64_t *until_us)
{
    return until_us && clock_us() >= __atomic_load_n(until_us, __ATOMIC_RELAXED);
}

/* Says how far it came from `at`; why it stopped there does not matter, reading and writing will
 * tell. */
static uint64_t copy_inside(int from_fd, int to_fd, uint64_t at, uint64_t end,
                            const int64_t *until_us)
{
    off_t from_at = (off_t)at, to_at = (off_t)at;
    while ((uint64_t)from_at < end && !is_late(until_us)) {
        uint64_t left = end - (uint64_t)from_at;
        size_t step = left < COPY_STEP_MAX ? left : COPY_STEP_MAX;
        ssize_t n = copy_file_range(from_fd, &from_at, to_fd, &to_at, step, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
    }
    return (uint64_t)from_at;
}

static ssize_t write_at(int fd, const char *bytes, size_t len, uint64_t at)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, bytes + done, len - done, (off_t)(at + done));
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)len;
}

/* The next piece from `at` on; its length, 0 at the end, or -errno. */
static ssize_t copy_piece(int from_fd, int to_fd, char *chunk, size_t want, uint64_t at)
{
    ssize_t n;
    do
        n = pread(from_fd, chunk, want, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    return write_at(to_fd, chunk, (size_t)n, at);
}

/* From `at` to `end`, or as far as there is something: *ret_at. */
static int copy_part(int from_fd, int to_fd, uint64_t at, uint64_t end, const int64_t *until_us,
                     uint64_t *ret_at)
{
    at = copy_inside(from_fd, to_fd, at, end, until_us);
    scoped(freep) char *chunk = at < end ? malloc(COPY_CHUNK) : NULL;
    if (at < end && !chunk)
        return -ENOMEM;
    while (at < end) {
        if (is_late(until_us))
            return -ETIME;
        uint64_t left = end - at;
        ssize_t n = copy_piece(from_fd, to_fd, chunk, left < COPY_CHUNK ? left : COPY_CHUNK, at);
        if (n < 0)
            return (int)n;
        if (n == 0)
            break;
        at += (uint64_t)n;
    }
    *ret_at = at;
    return 0;
}

/* The next stretch of data at or after `at`; false when there is only a hole up to `size`. */
static bool find_data(int fd, uint64_t at, uint64_t size, uint64_t *ret_from, uint64_t *ret_to)
{
    off_t from = lseek(fd, (off_t)at, SEEK_DATA);
    if (from < 0 && errno == ENXIO)
        return false;
    *ret_from = from < 0 ? at : (uint64_t)from; /* a file system that does not know: all is data */
    off_t to = lseek(fd, (off_t)*ret_from, SEEK_HOLE);
    *ret_to = to < 0 || (uint64_t)to > size ? size : (uint64_t)to;
    return *ret_from < size;
}

int copy_content_until(int from_fd, int to_fd, uint64_t size, const int64_t *until_us,
                       uint64_t *ret_len)
{
    struct stat st;
    if (share(from_fd, to_fd, size, ret_len))
        return 0;
    if (fstat(from_fd, &st))
        return -errno;
    if ((uint64_t)st.st_size < size)
        size = (uint64_t)st.st_size;
    uint64_t from, to;
    for (uint64_t at = 0; at < size && find_data(from_fd, at, size, &from, &to);) {
        int error = copy_part(from_fd, to_fd, from, to, until_us, &at);
        if (error)
            return error;
        if (at < to) /* it is being cut */
            size = at;
    }
    *ret_len = size;
    return ftruncate(to_fd, (off_t)size) ? -errno : 0;
}

int copy_content(int from_fd, int to_fd, uint64_t size, uint64_t *ret_len)
{
    return copy_content_until(from_fd, to_fd, size, /* until_us= */ NULL, ret_len);
}
