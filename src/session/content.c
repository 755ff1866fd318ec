#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "session/capture_int.h"

enum { CONTENT_CHUNK = 64 << 10, CONTENT_ATTEMPTS = 2 };

static const char *const reasons[READING_COUNT] = {
    [READING_DENIED] = "cannot be read",
    [READING_TOO_LARGE] = "too large to be hashed",
    [READING_RESTLESS] = "changed while it was read",
    [READING_BUSY] = "in use",
    [READING_LATE] = "out of time",
    [READING_LINK] = "symbolic link",
    [READING_ODD] = "not a regular file",
};

const char *reading_reason(enum reading reading)
{
    assert(reading < READING_COUNT && reasons[reading]);
    return reasons[reading];
}

static enum reading why_not_opened(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR: return READING_GONE;
    case ELOOP: return READING_LINK;
    case ENXIO: return READING_ODD; /* a socket */
    case EAGAIN: return READING_BUSY;
    default: return READING_DENIED;
    }
}

bool content_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Hashes as many bytes as the file had when it was looked at. READING_RESTLESS if they are not
 * there any more. */
static enum reading hash_content(int fd, uint64_t size, int64_t deadline_us, uint8_t digest[])
{
    struct err ignored = {0}; /* libcrypto fails for want of memory only */
    scoped(hash_done) struct hash h = {0};
    const size_t chunk_len = size < CONTENT_CHUNK ? size : CONTENT_CHUNK; /* most files are small */
    scoped(freep) char *chunk = malloc(chunk_len + 1);
    if (!chunk || hash_init(&h, &ignored))
        return READING_DENIED;
    for (uint64_t done = 0; done < size;) {
        uint64_t left = size - done;
        ssize_t n = pread(fd, chunk, left < chunk_len ? left : chunk_len, (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return READING_DENIED;
        if (n == 0)
            return READING_RESTLESS;
        if (hash_add(&h, chunk, (size_t)n, &ignored))
            return READING_DENIED;
        if (clock_us() > deadline_us)
            return READING_LATE;
        done += (uint64_t)n;
    }
    return hash_end(&h, digest, &ignored) ? READING_DENIED : READING_DONE;
}

static enum reading read_once(int fd, int64_t deadline_us, struct captured_file *file)
{
    struct stat before, after;
    if (fstat(fd, &before))
        return READING_DENIED;
    if (!S_ISREG(before.st_mode))
        return READING_ODD;
    file->size = (uint64_t)before.st_size;
    if (file->size > CAPTURE_HASH_MAX)
        return READING_TOO_LARGE;
    uint8_t digest[HASH_LEN];
    enum reading reading = hash_content(fd, file->size, deadline_us, digest);
    if (reading != READING_DONE)
        return reading;
    if (fstat(fd, &after) || !content_is_same(&before, &after))
        return READING_RESTLESS;
    memcpy(file->sha256, digest, sizeof digest);
    file->has_sha256 = true;
    return READING_DONE;
}

enum reading content_read(int dir_fd, int64_t deadline_us, struct captured_file *file)
{
    if (clock_us() > deadline_us)
        return READING_LATE;
    enum reading reading = READING_RESTLESS;
    for (int i = 0; i < CONTENT_ATTEMPTS && reading == READING_RESTLESS; i++) {
        scoped(fd_closep) int fd = below_open(dir_fd, file->path, O_RDONLY);
        reading = fd < 0 ? why_not_opened(-fd) : read_once(fd, deadline_us, file);
    }
    return reading;
}
