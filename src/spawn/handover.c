/* Who owns the files of /mnt/data where id-mapped mounts do not work: the session while it lives, the
 * service before and after. Both changes happen when no process of the session exists, so nobody can
 * move things under the walk. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "spawn/jail_int.h"

static int chown_tree(int dir_fd, uid_t uid, gid_t gid, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d/", dir_fd);
    char *roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL);
    if (!tree)
        return err_sys(e, errno, "walk the data directory");
    int failure = 0;
    for (FTSENT *entry; (entry = fts_read(tree));)
        if (entry->fts_info != FTS_DP && !failure &&
            fchownat(AT_FDCWD, entry->fts_accpath, uid, gid, AT_SYMLINK_NOFOLLOW))
            failure = errno;
    (void)fts_close(tree);
    if (chdir("/"))
        failure = failure ? failure : errno;
    return failure ? err_sys(e, failure, "hand over the data directory") : 0;
}

int jail_hand_over(struct jail *j, uid_t uid, struct err *e)
{
    struct stat st;
    if (fstat(j->data.dir_fd, &st))
        return err_sys(e, errno, "look at the data directory");
    j->disk_uid = st.st_uid;
    j->disk_gid = st.st_gid;
    j->is_handed_over = true;
    return chown_tree(j->data.dir_fd, uid, (gid_t)uid, e);
}

void jail_take_back(struct jail *j)
{
    struct err e = {0};
    /* What cannot be given back stays with a uid nobody has; the service will find it unreadable. */
    (void)chown_tree(j->data.dir_fd, j->disk_uid, j->disk_gid, &e);
    j->is_handed_over = false;
}
