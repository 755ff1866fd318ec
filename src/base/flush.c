#include "base/flush.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/walk.h"

enum {
    XFS_MAGIC = 0x58465342,
    WRITE_AND_WAIT =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER,
};

static void walk_freep(struct walk **wp)
{
    walk_free(*wp);
}

static bool has_one_journal(int dir_fd)
{
    struct statfs fs;
    return fstatfs(dir_fd, &fs) == 0 && (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_MAGIC);
}

/* 0 or errno. */
static int begin_file(int fd)
{
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* only a beginning */
    return 0;
}

static int await_file(int fd)
{
    if (sync_file_range(fd, 0, 0, WRITE_AND_WAIT) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ESPIPE && errno != EINVAL)
        return errno;
    return fdatasync(fd) ? errno : 0;
}

static int sync_by_itself(int fd)
{
    return fsync(fd) ? errno : 0;
}

static int each_file(struct walk *w, int (*act)(int fd), struct err *e)
{
    struct walk_entry entry;
    walk_restart(w);
    while (walk_next(w, &entry)) {
        if (S_ISDIR(entry.st.stx_mode))
            (void)walk_enter(w); /* closed: not the caller's */
        if (!S_ISREG(entry.st.stx_mode))
            continue;
        scoped(fd_closep) int fd = below_open(walk_dir(w), entry.name, O_RDONLY);
        int error = fd >= 0 ? act(fd) : 0;
        if (error)
            return err_sys(e, error, "write files to disk");
    }
    return 0;
}

static int sync_directories(struct walk *w, int dir_fd, struct err *e)
{
    struct walk_entry entry;
    walk_restart(w);
    while (walk_next(w, &entry))
        if (S_ISDIR(entry.st.stx_mode) && walk_enter(w) == 0 && fsync(walk_dir(w)))
            return err_sys(e, errno, "write directories to disk");
    return fsync(dir_fd) ? err_sys(e, errno, "write a directory to disk") : 0;
}

static int commit_journal(int dir_fd, struct err *e)
{
    struct stat st;
    if (fstat(dir_fd, &st) || fchmod(dir_fd, st.st_mode & 07777) || fsync(dir_fd))
        return err_sys(e, errno, "write a directory to disk");
    return 0;
}

int flush_tree(int dir_fd, struct err *e)
{
    scoped(walk_freep) struct walk *w = NULL;
    if (walk_new(dir_fd, &w, e))
        return -1;
    if (!has_one_journal(dir_fd))
        return each_file(w, sync_by_itself, e) || sync_directories(w, dir_fd, e) ? -1 : 0;
    return each_file(w, begin_file, e) || each_file(w, await_file, e) || commit_journal(dir_fd, e)
               ? -1
               : 0;
}
