#include "service/materialise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/tree.h"
#include "workspace/files.h"

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, PIECE = 1 << 20 };

/* Opens the directory `name` of `at`; makes it, also where a file or a whiteout was. */
static int step(int at, const char *name, struct err *e)
{
    int fd = openat(at, name, OPEN_DIR);
    if (fd >= 0)
        return fd;
    if (errno == ENOTDIR || errno == ELOOP)
        (void)unlinkat(at, name, 0); /* the next line fails if it could not be */
    if (mkdirat(at, name, 0755) && errno != EEXIST)
        return err_sys(e, errno, "make a directory");
    fd = openat(at, name, OPEN_DIR);
    return fd >= 0 ? fd : err_sys(e, errno, "open a directory");
}

int materialise_way(int dir_fd, const char *path, int *ret_fd, const char **ret_name, struct err *e)
{
    scoped(fd_closep) int at = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    if (at < 0)
        return err_sys(e, errno, "open a directory");
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        char name[NAME_MAX + 1];
        size_t len = (size_t)(slash - path);
        if (len == 0 || len > NAME_MAX)
            return err_set(e, ERR_INVALID, "a path that no file can have");
        memcpy(name, path, len);
        name[len] = '\0';
        int next = step(at, name, e);
        if (next < 0)
            return -1;
        (void)close(at);
        at = next;
    }
    *ret_fd = take_fd(&at);
    *ret_name = path;
    return 0;
}

static int pour(struct content_reader *reader, uint64_t size, int fd, struct err *e)
{
    size_t piece = size < PIECE ? (size_t)size : PIECE;
    scoped(freep) char *bytes = malloc(piece + 1);
    if (!bytes)
        return err_set(e, ERR_NO_MEMORY, "write a file");
    for (uint64_t at = 0; at < size;) {
        size_t len = 0;
        if (content_read(reader, at, bytes, piece, &len, e))
            return -1;
        if (len == 0)
            return err_set(e, ERR_DAMAGED, "a content ends before its end");
        if (fd_write_all(fd, bytes, len, e))
            return -1;
        at += len;
    }
    return 0;
}

/* What is in the way of a change at `path`. */
enum obstacle { NOTHING, FILE_ABOVE, WHITEOUT_ABOVE, DIR_THERE };

static enum obstacle find_obstacle(int dir_fd, const char *path)
{
    struct stat st;
    char above[PATH_BYTES_MAX + 1];
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        (void)snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
        if (fstatat(dir_fd, above, &st, AT_SYMLINK_NOFOLLOW))
            return NOTHING;
        if (!S_ISDIR(st.st_mode))
            return S_ISREG(st.st_mode) ? FILE_ABOVE : WHITEOUT_ABOVE;
    }
    bool is_dir = fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    return is_dir ? DIR_THERE : NOTHING;
}

bool materialise_fits(int dir_fd, const char *path)
{
    return find_obstacle(dir_fd, path) == NOTHING;
}

/* What was in a directory of that name is deleted: no file would be here otherwise. */
static void clear(int at, const char *name)
{
    struct err ignored = {0};
    scoped(fd_closep) int fd = openat(at, name, OPEN_DIR);
    if (fd >= 0)
        (void)tree_remove(fd, &ignored);
    (void)unlinkat(at, name, fd >= 0 ? AT_REMOVEDIR : 0);
}

int materialise(struct files *files, const struct workspace_row *ws, const struct content *content,
                int dir_fd, const char *path, int64_t changed_us, struct err *e)
{
    scoped(fd_closep) int at = -1;
    scoped(content_closep) struct content_reader *reader = NULL;
    const char *name;
    if (files_check_room(files, ROOM_FOR_COPIES, content->size, 1, e) ||
        materialise_way(dir_fd, path, &at, &name, e))
        return -1;
    clear(at, name); /* the next line fails if it could not be */
    scoped(fd_closep) int fd =
        openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(e, errno, "make a file");
    if (content->size > 0 && (files_open_content(files, ws, content, &reader, e) ||
                              pour(reader, content->size, fd, e))) {
        (void)unlinkat(at, name, 0); /* whoever goes on without it must not find half of it */
        return err_wrap(e, "%.200s", path);
    }
    const struct timespec when = {.tv_sec = changed_us / 1000000,
                                  .tv_nsec = changed_us % 1000000 * 1000};
    (void)futimens(fd, (const struct timespec[]){when, when}); /* only people look at it */
    return 0;
}

int materialise_gone(int dir_fd, const char *path, struct err *e)
{
    scoped(fd_closep) int at = -1;
    const char *name;
    enum obstacle obstacle = find_obstacle(dir_fd, path);
    if (obstacle == FILE_ABOVE || obstacle == DIR_THERE)
        return 0; /* which hides it already */
    if (materialise_way(dir_fd, path, &at, &name, e))
        return -1;
    if (unlinkat(at, name, 0) && errno != ENOENT)
        return err_sys(e, errno, "replace a file");
    if (mknodat(at, name, S_IFCHR, makedev(0, 0)))
        return err_sys(e, errno, "make a whiteout");
    return 0;
}
