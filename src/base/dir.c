#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    OPEN_ALWAYS = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
    OPEN_PATH_ALWAYS = O_CLOEXEC | O_NOFOLLOW, /* O_PATH accepts no others */
    RESOLVE_HERE = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
};

static int resolve_open(int dir_fd, const char *path, int flags, uint64_t resolve)
{
    unsigned always = flags & O_PATH ? OPEN_PATH_ALWAYS : OPEN_ALWAYS;
    struct open_how how = {.flags = (unsigned)flags | always, .resolve = resolve};
    long fd;
    do
        fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
    while (fd < 0 && errno == EINTR); /* not EAGAIN: a file under a lease says that for a minute */
    return fd < 0 ? -errno : (int)fd;
}

int below_open(int dir_fd, const char *path, int flags)
{
    return resolve_open(dir_fd, path, flags, RESOLVE_HERE | RESOLVE_BENEATH);
}

/* Whoever reads a directory is seen in its access time, which tells a hostile program where a
 * walker is. Only the owner and root may avoid that. */
static int open_unseen(int dir_fd, const char *path, uint64_t resolve)
{
    int flags = O_RDONLY | O_DIRECTORY;
    int fd = resolve_open(dir_fd, path, flags | O_NOATIME, resolve);
    return fd == -EPERM ? resolve_open(dir_fd, path, flags, resolve) : fd;
}

int below_open_dir(int dir_fd, const char *path)
{
    return open_unseen(dir_fd, path, RESOLVE_HERE | RESOLVE_BENEATH);
}

int above_open_dir(int dir_fd)
{
    return open_unseen(dir_fd, "..", RESOLVE_HERE);
}

void dir_init(struct dir *d, int fd)
{
    d->fd = fd;
    d->error = 0;
    d->resume = 0;
    d->at = d->len = 0;
}

void dir_done(struct dir *d)
{
    if (d->fd >= 0)
        (void)close(d->fd);
    d->fd = -1;
}

static bool fill(struct dir *d)
{
    ssize_t n = getdents64(d->fd, d->chunk, sizeof d->chunk);
    if (n < 0 && errno != ENOENT) /* ENOENT: it was removed while being read, so it is empty */
        d->error = errno;
    d->at = 0;
    d->len = n > 0 ? (size_t)n : 0;
    return d->len > 0;
}

const struct dirent64 *dir_next(struct dir *d)
{
    while (d->at < d->len || fill(d)) {
        const struct dirent64 *entry = (const void *)(d->chunk + d->at);
        d->at += entry->d_reclen;
        d->resume = entry->d_off;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry;
    }
    return NULL;
}

void dir_seek(struct dir *d, int64_t place)
{
    d->at = d->len = 0;
    d->resume = place;
    d->error = lseek(d->fd, place, SEEK_SET) < 0 ? errno : 0;
}
