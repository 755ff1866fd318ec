#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/capture_int.h"

enum {
    CONTENT_TRIES = 3,
    SETTLE_TRIES = 3,
    WRITE_AND_WAIT =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER,
};

static const char *const reasons[READING_COUNT] = {
    [READING_DENIED] = "cannot be read", [READING_FAILED] = "cannot be read",
    [READING_TOO_LARGE] = "too large",   [READING_RESTLESS] = "changed while it was read",
    [READING_BUSY] = "in use",           [READING_LATE] = "out of time",
    [READING_LINK] = "symbolic link",    [READING_ODD] = "not a regular file",
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
    case EACCES:
    case EPERM: return READING_DENIED;
    default: return READING_FAILED;
    }
}

bool stamp_is_same(const struct file_stamp *was, const struct file_stamp *is)
{
    if (was->kind != is->kind || was->odd != is->odd)
        return false;
    if (is->kind == STAMP_DIRECTORY || is->kind == STAMP_OPAQUE)
        return true; /* what is in it is stamped by itself */
    return was->inode == is->inode && was->size == is->size && was->mtime_ns == is->mtime_ns &&
           was->ctime_ns == is->ctime_ns;
}

/* The number of an inode that was removed is soon given to another one; this differs then. */
static uint32_t generation_of(int fd)
{
    uint32_t generation = 0; /* the ioctl writes an int, whatever its definition says */
    return ioctl(fd, FS_IOC_GETVERSION, &generation) ? 0 : generation;
}

static bool stamp_fd(int fd, struct file_stamp *ret)
{
    struct statx st;
    int64_t now_ns = tick_ns(); /* before the look: what changes after it is not earlier */
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st))
        return false;
    stamp_set(ret, &st, /* is_upper= */ false);
    ret->is_fresh = ret->ctime_ns >= now_ns;
    return true;
}

/* A call that writes has set the file's times before it copies the first byte, and may be anywhere
 * in between. It holds the inode's lock, which asking for the first data waits for. Then the pages
 * are cleaned, and when the times have not moved by then, none of them became dirty again. */
bool content_settle(int fd, bool is_written_back, struct file_stamp *ret)
{
    struct file_stamp before = {0};
    bool is_still = false;
    ret->kind = STAMP_ODD;
    if (!stamp_fd(fd, &before))
        return false;
    for (int i = 0; i < SETTLE_TRIES && !is_still; i++) {
        if (is_written_back && before.kind == STAMP_FILE) {
            (void)lseek(fd, 0, SEEK_DATA); /* for its wait only */
            if (sync_file_range(fd, 0, 0, WRITE_AND_WAIT) && fdatasync(fd))
                return false;
        }
        struct file_stamp after = {0};
        if (!stamp_fd(fd, &after))
            return false;
        is_still = stamp_is_same(&before, &after);
        before = after;
    }
    before.path = ret->path;
    before.is_changed = ret->is_changed;
    before.is_new = ret->is_new;
    if (before.is_fresh && is_written_back && before.kind == STAMP_FILE)
        before.generation = generation_of(fd);
    *ret = before;
    (void)lseek(fd, 0, SEEK_SET); /* of a regular file it cannot fail, others are not read */
    return is_still;
}

bool content_is_known(const struct look *l, const struct file_stamp *was)
{
    if (!was->is_fresh)
        return true;
    if (!l->is_clock_fine || was->generation == 0)
        return false;
    scoped(fd_closep) int fd = below_open(l->dir_fd, was->path, O_RDONLY);
    struct file_stamp is = {0};
    return fd >= 0 && stamp_fd(fd, &is) && stamp_is_same(was, &is) &&
           generation_of(fd) == was->generation;
}

void content_prepare(const struct look *l, const struct file_stamp *is)
{
    if (!l->is_written_back || is->size > l->file_max)
        return;
    scoped(fd_closep) int fd = below_open(l->dir_fd, is->path, O_RDONLY);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* only a beginning */
}

/* -1: the sink ended the look. *ret_is_told: it was given something to read. */
static int read_once(struct look *l, int fd, struct file_stamp *is, bool *ret_is_told,
                     struct err *e)
{
    bool is_still = content_settle(fd, l->is_written_back, is);
    if (is->kind != STAMP_FILE)
        return READING_ODD;
    if (is->size > l->file_max)
        return READING_TOO_LARGE;
    *ret_is_told = true;
    int reading = l->sink->changed(l, is, fd, e);
    struct file_stamp after = {0};
    if (reading == READING_DONE &&
        (!is_still || !stamp_fd(fd, &after) || !stamp_is_same(is, &after)))
        return READING_RESTLESS;
    return reading;
}

int look_read_file(struct look *l, struct file_stamp *is, struct err *e)
{
    if (clock_us() > l->read_deadline_us)
        return READING_LATE;
    int reading = READING_RESTLESS;
    bool is_told = false;
    for (int i = 0; i < CONTENT_TRIES && reading == READING_RESTLESS; i++) {
        scoped(fd_closep) int fd = below_open(l->dir_fd, is->path, O_RDONLY);
        bool is_told_now = false;
        reading = fd < 0 ? (int)why_not_opened(-fd) : read_once(l, fd, is, &is_told_now, e);
        if (is_told && !is_told_now) /* it was there, and is not any more: what was read stays */
            return READING_RESTLESS;
        is_told = is_told_now;
    }
    return reading;
}
