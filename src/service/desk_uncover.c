/* desk_uncover.c -- an overlay that nobody has mounted lies on the workspace's head from now on: what is in
 * its upper layer must not hide that. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/scope.h"
#include "service/desk_int.h"
#include "session/working.h"

enum { DEPTH_MAX = 64 }; /* of directories that are removed as empty */

/* Removes a directory of the upper layer in which the session has nothing: directories and whiteouts. */
static bool remove_hollow(int at, const char *name, unsigned depth, bool is_dry)
{
    struct dir d;
    struct stat st;
    bool is_so = depth > 0;
    int fd = is_so ? below_open_dir(at, name) : -1;
    if (fd < 0)
        return false;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; is_so && (entry = dir_next(&d));) {
        if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            is_so = false;
        else if (S_ISDIR(st.st_mode))
            is_so = remove_hollow(fd, entry->d_name, depth - 1, is_dry);
        else
            is_so = S_ISCHR(st.st_mode) && (is_dry || unlinkat(fd, entry->d_name, 0) == 0);
    }
    is_so = is_so && !d.error;
    dir_done(&d);
    return is_so && (is_dry || unlinkat(at, name, AT_REMOVEDIR) == 0);
}

/* What lies at the path itself; `at` is the directory above. False: the session's, and it stays. */
static bool uncover_name(int at, const char *name, bool is_gone)
{
    struct stat st;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT;
    if (!S_ISDIR(st.st_mode))
        return unlinkat(at, name, 0) == 0;
    return is_gone || (remove_hollow(at, name, DEPTH_MAX, /* is_dry= */ true) &&
                       remove_hollow(at, name, DEPTH_MAX, /* is_dry= */ false));
}

bool desk_uncover(const struct desk *d, const char *path, bool is_gone)
{
    scoped(fd_closep) int at = below_open_dir(working_data(d->working)->dir_fd, ".");
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        struct stat st;
        char name[NAME_MAX + 1];
        (void)snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
        if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
            return errno == ENOENT;
        if (!S_ISDIR(st.st_mode))
            return S_ISCHR(st.st_mode) ? unlinkat(at, name, 0) == 0 : is_gone;
        int next = below_open_dir(at, name);
        if (next >= 0)
            (void)fremovexattr(next, "user.overlay.opaque"); /* mostly there is none */
        (void)close(at);
        at = next;
    }
    return at >= 0 && uncover_name(at, path, is_gone);
}
