#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/id.h"
#include "base/scope.h"
#include "session/capture_int.h"

/* A path as a capture makes it: names joined by single slashes, none of them "." or "..". */
static bool is_plain(const char *path)
{
    if (strlen(path) >= PATH_MAX)
        return false;
    for (const char *at = path;;) {
        size_t len = strcspn(at, "/");
        bool is_dots = len <= 2 && memcmp(at, "..", len) == 0;
        if (len == 0 || is_dots || len > NAME_MAX)
            return false;
        if (!at[len])
            return true;
        at += len + 1;
    }
}

/* Opens one name in a directory of the receiving side: never through a link, but a mount is fine
 * there, the receiver arranged it. */
static int open_name(int dir_fd, const char *name, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, dir_fd, name, &how, sizeof how);
    return fd < 0 ? -errno : (int)fd;
}

/* Makes the directories above the last name of `path` and opens the innermost. *ret_name is that
 * name, in `path`. */
static int open_parent(int to_fd, const char *path, int *ret, const char **ret_name, struct err *e)
{
    scoped(fd_closep) int at = open_name(to_fd, ".", O_PATH | O_DIRECTORY, 0);
    const char *name = path;
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        char part[NAME_MAX + 1];
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        if (mkdirat(at, part, 0755) && errno != EEXIST)
            return err_sys(e, errno, "make directory %s", part);
        int next = open_name(at, part, O_PATH | O_DIRECTORY, 0);
        (void)close(at);
        at = next;
    }
    if (at < 0)
        return err_sys(e, -at, "open the directory to copy to");
    *ret = take_fd(&at);
    *ret_name = name;
    return 0;
}

/* Copies what `from` holds, if it stays what it is meanwhile. */
static int copy_still(int from, int to, uint64_t size_max, struct err *e)
{
    struct file_stamp before = {0}, after = {0};
    (void)content_settle(from, /* is_written_back= */ false, &before); /* compared below */
    if (before.kind != STAMP_FILE)
        return err_set(e, ERR_INVALID, "not a regular file");
    if (before.size > size_max)
        return err_set(e, ERR_LIMIT, "larger than %llu bytes", (unsigned long long)size_max);
    uint64_t len;
    int error = copy_content(from, to, before.size, &len);
    if (error)
        return err_sys(e, -error, "copy a file");
    if (len < before.size || !content_settle(from, /* is_written_back= */ false, &after) ||
        !stamp_is_same(&before, &after))
        return err_set(e, ERR_CONFLICT, "changed while it was copied");
    return 0;
}

/* Writes the copy under a name nobody knows, then gives it its own in one step. */
static int place(int from, int dir_fd, const char *name, uint64_t size_max, struct err *e)
{
    char draft[ID_SIZE];
    if (id_make(".cicada-", draft, e))
        return -1;
    scoped(fd_closep) int to = open_name(dir_fd, draft, O_RDWR | O_CREAT | O_EXCL, 0644);
    if (to < 0)
        return err_sys(e, -to, "create it");
    if (copy_still(from, to, size_max, e))
        goto fail;
    if (renameat(dir_fd, draft, dir_fd, name)) {
        err_sys(e, errno, "put it in its place");
        goto fail;
    }
    return 0;

fail:
    (void)unlinkat(dir_fd, draft, 0); /* the failure is reported already */
    return -1;
}

int capture_copy(int from_fd, int to_fd, const char *path, uint64_t size_max, struct err *e)
{
    if (!is_plain(path))
        return err_set(e, ERR_INVALID, "copy: not a path below the directory");
    scoped(fd_closep) int from = below_open(from_fd, path, O_RDONLY);
    if (from < 0)
        return err_sys(e, -from, "copy %s: open it", path);
    scoped(fd_closep) int dir_fd = -1;
    const char *name;
    if (open_parent(to_fd, path, &dir_fd, &name, e) || place(from, dir_fd, name, size_max, e))
        return err_wrap(e, "copy %s", path);
    return 0;
}
