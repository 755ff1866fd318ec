#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "workspace/uploads_int.h"

static const char magic[8] = {'C', 'I', 'C', 'U', 'P', 'L', '1', '\n'};

static int disk_error(struct err *e, int errnum, const char *what)
{
    if (errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG)
        return err_set(e, ERR_NO_SPACE, "%s: the server's disk is full", what);
    return err_sys(e, errnum, "%s", what);
}

static int write_at(int fd, uint64_t offset, const void *bytes, size_t len, struct err *e)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return disk_error(e, n < 0 ? errno : EIO, "stage an upload");
        done += (size_t)n;
    }
    return 0;
}

/* Until `size` bytes or the end of the file. */
static int read_at(int fd, uint64_t offset, void *to, size_t size, size_t *ret_len, struct err *e)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "read an upload");
        if (n == 0)
            break;
        done += (size_t)n;
    }
    *ret_len = done;
    return 0;
}

static int write_head(int fd, uint64_t received, struct err *e)
{
    uint8_t head[STAGED_HEAD_LEN];
    memcpy(head, magic, sizeof magic);
    put_u64(head + sizeof magic, received);
    return write_at(fd, 0, head, sizeof head, e);
}

int staged_create(int dir_fd, const char *id, struct err *e)
{
    scoped(fd_closep) int fd =
        openat(dir_fd, id, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return disk_error(e, errno, "make an upload");
    if (write_head(fd, 0, e) == 0) {
        if (fsync(fd) == 0 && fsync(dir_fd) == 0)
            return 0;
        (void)disk_error(e, errno, "make an upload");
    }
    (void)unlinkat(dir_fd, id, 0); /* files_tidy removes it otherwise */
    return -1;
}

int staged_open(int dir_fd, const char *id, int *ret_fd, struct err *e)
{
    int fd = below_open(dir_fd, id, O_RDWR);
    if (fd < 0)
        return err_sys(e, -fd, "open an upload");
    *ret_fd = fd;
    return 0;
}

int staged_lock(int fd, struct err *e)
{
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK)
            return err_sys(e, errno, "lock an upload");
        return err_set(e, ERR_BUSY, "another request is sending to this upload; wait for its end");
    }
    struct stat st;
    if (fstat(fd, &st))
        return err_sys(e, errno, "look at an upload");
    if (st.st_nlink == 0)
        return err_set(e, ERR_NOT_FOUND, "this upload was just completed or deleted");
    return 0;
}

int staged_received(int fd, uint64_t *ret, struct err *e)
{
    uint8_t head[STAGED_HEAD_LEN];
    size_t len;
    if (read_at(fd, 0, head, sizeof head, &len, e))
        return -1;
    struct stat st;
    if (fstat(fd, &st))
        return err_sys(e, errno, "look at an upload");
    uint64_t received = len == sizeof head ? get_u64(head + sizeof magic) : 0;
    if (len != sizeof head || memcmp(head, magic, sizeof magic) != 0 ||
        received > (uint64_t)st.st_size - STAGED_HEAD_LEN)
        return err_set(e, ERR_DAMAGED, "what was staged of this upload is damaged; begin again");
    *ret = received;
    return 0;
}

int staged_write(int fd, uint64_t at, const void *bytes, size_t len, struct err *e)
{
    return write_at(fd, STAGED_HEAD_LEN + at, bytes, len, e);
}

int staged_sync(int fd, uint64_t received, struct err *e)
{
    if (fdatasync(fd))
        return disk_error(e, errno, "sync an upload");
    if (write_head(fd, received, e))
        return -1;
    return fdatasync(fd) ? disk_error(e, errno, "sync an upload") : 0;
}

int staged_read(void *arg, uint64_t offset, void *to, size_t size, size_t *ret_len, struct err *e)
{
    int fd = *(const int *)arg;
    uint64_t received;
    if (staged_received(fd, &received, e))
        return -1;
    uint64_t left = offset < received ? received - offset : 0;
    return read_at(fd, STAGED_HEAD_LEN + offset, to, left < size ? (size_t)left : size, ret_len, e);
}
