/* Libraries that one jail sees instead of the host's: those of when its image was made. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "sandbox/root.h"
#include "spawn/jail_int.h"

void libraries_done(struct libraries *l)
{
    for (size_t i = 0; i < JAIL_LIBRARIES; i++) {
        fd_closep(&l->mounts[i]);
        l->mounts[i] = -1;
    }
}

/* Whoever could write to it could change what other sessions run. What the engine itself puts there is
 * its own affair: it decides what runs in a jail anyway. */
static int check(const struct host *host, int fd, struct err *e)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &st))
        return err_sys(e, errno, "look at the libraries");
    if (!S_ISDIR(st.st_mode) || (flags & O_PATH))
        return err_set(e, ERR_INVALID, "the libraries are not an open directory");
    bool is_ours = st.st_uid == geteuid() || st.st_uid == 0 ||
                   (host->data_uid != 0 && st.st_uid == host->data_uid);
    if (!is_ours || (st.st_mode & 022))
        return err_set(e, ERR_DENIED, "the libraries belong to or can be written by others");
    return 0;
}

static int mount_one(const struct host *host, int tree_fd, const char *name, int *ret,
                     struct err *e)
{
    scoped(fd_closep) int fd = below_open(tree_fd, name, O_RDONLY | O_DIRECTORY);
    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return err_sys(e, -fd, "open the libraries");
    return check(host, fd, e) || root_libraries(&host->root, fd, ret, e) ? -1 : 0;
}

int libraries_mount(const struct host *host, int tree_fd, struct libraries *ret, struct err *e)
{
    scoped(libraries_done) struct libraries made = LIBRARIES_NONE;
    if (check(host, tree_fd, e))
        return -1;
    for (size_t i = 0; i < JAIL_LIBRARIES; i++)
        if (mount_one(host, tree_fd, jail_libraries[i].name, &made.mounts[i], e))
            return -1;
    *ret = made;
    made = LIBRARIES_NONE;
    return 0;
}
