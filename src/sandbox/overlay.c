#include "sandbox/overlay.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/tree.h"
#include "sandbox/root_int.h"

/* The layers as mounts of our own: HOME first, then the lowers. */
enum { HOME = 0, MOUNTS_MAX = 1 + OVERLAY_LOWERS_MAX };

struct mounts {
    int fds[MOUNTS_MAX]; /* owned */
    size_t count;
    int upper, work; /* owned: places in HOME */
};
#define MOUNTS_NONE ((struct mounts){.count = 0, .upper = -1, .work = -1})

static void mounts_done(struct mounts *m)
{
    for (size_t i = 0; i < m->count; i++)
        fd_closep(&m->fds[i]);
    fd_closep(&m->upper);
    fd_closep(&m->work);
    *m = MOUNTS_NONE;
}

/* A directory of that name, which must be the one that was meant. Layers are named by descriptors
 * from here on: nobody can put a link in their place. */
static int open_same(int home_fd, const char *name, int wanted_fd, int *ret, struct err *e)
{
    struct stat st, wanted;
    scoped(fd_closep) int fd = openat(home_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || fstat(wanted_fd, &wanted))
        return err_sys(e, errno, "find %s of the overlay", name);
    if (st.st_dev != wanted.st_dev || st.st_ino != wanted.st_ino)
        return err_set(e, ERR_INVALID, "the overlay's directories are not called data and work");
    *ret = take_fd(&fd);
    return 0;
}

static int clone_layers(const struct root *r, const struct overlay_layers *layers, int idmap_fd,
                        struct mounts *m, struct err *e)
{
    const uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    int dirs[MOUNTS_MAX];
    scoped(fd_closep) int home =
        openat(layers->upper_fd, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (home < 0)
        return err_sys(e, errno, "find the overlay's directory");
    dirs[HOME] = home;
    memcpy(dirs + 1, layers->lower_fds, layers->lower_count * sizeof *dirs);
    if (root_clone(r, dirs, 1 + layers->lower_count, m->fds, e))
        return -1;
    m->count = 1 + layers->lower_count;
    for (size_t i = 0; i < m->count; i++)
        if (root_restrict(m->fds[i], attributes | (i == HOME ? 0 : MOUNT_ATTR_RDONLY), idmap_fd,
                          "a layer", e))
            return -1;
    return open_same(m->fds[HOME], "data", layers->upper_fd, &m->upper, e) ||
                   open_same(m->fds[HOME], "work", layers->work_fd, &m->work, e)
               ? -1
               : 0;
}

static int set_option(int fs, const char *name, const char *value)
{
    return (int)syscall(SYS_fsconfig, fs, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, name,
                        value, 0);
}

/* The overlay of these layers; without an upper one it can only be read. 0 or the errno. */
static int create_as_they_are(const struct mounts *m, int *ret)
{
    char lowers[32 * OVERLAY_LOWERS_MAX] = "", upper[32], work[32];
    size_t len = 0;
    for (size_t i = 1; i < m->count; i++)
        len += (size_t)snprintf(lowers + len, sizeof lowers - len, "%s/proc/self/fd/%d",
                                i > 1 ? ":" : "", m->fds[i]);
    snprintf(upper, sizeof upper, "/proc/self/fd/%d", m->upper);
    snprintf(work, sizeof work, "/proc/self/fd/%d", m->work);
    scoped(fd_closep) int fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
    if (fs < 0)
        return errno;
    if (set_option(fs, "source", "data") || set_option(fs, "lowerdir", lowers) ||
        set_option(fs, "userxattr", NULL))
        return errno;
    if (m->upper >= 0 && (set_option(fs, "upperdir", upper) || set_option(fs, "workdir", work) ||
                          set_option(fs, "volatile", NULL)))
        return errno;
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
        return errno;
    int fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fd < 0)
        return errno;
    *ret = fd;
    return 0;
}

/* Before Linux 6.15 a layer's mount must be somewhere: for the moment they are laid one over the
 * other on an empty directory. Nobody else is in our namespace, and nobody is cloned from it
 * meanwhile. */
static int create_in_place(const struct mounts *m, const char *place, int *ret)
{
    size_t placed = 0;
    int why = 0;
    for (size_t i = m->upper < 0 ? 1U : 0U; i < m->count && !why; i++) {
        why = root_cover(m->fds[i], place);
        placed += why ? 0u : 1u;
    }
    if (!why)
        why = create_as_they_are(m, ret);
    for (; placed > 0; placed--)
        if (umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW))
            _exit(112); /* every jail after this one would see the layers */
    return why;
}

static int create(const struct mounts *m, const char *place, int *ret)
{
    int why = create_as_they_are(m, ret);
    return why == EINVAL ? create_in_place(m, place, ret) : why;
}

/* What says that the overlay must not be used again is not true here: work is emptied before. And
 * the directory that it keeps its drafts in shall be the owner's, so that he can remove it should we
 * die. */
static int tidy(const struct mounts *m, struct err *e)
{
    struct stat st;
    scoped(fd_closep) int drafts = below_open(m->work, "work", O_RDONLY | O_DIRECTORY);
    if (drafts == -ENOENT) /* then it was mounted read-only, without a word */
        return err_set(e, ERR_NO_SPACE, "mount the overlay: there is no room for its drafts");
    if (drafts < 0)
        return err_sys(e, -drafts, "find the overlay's drafts");
    if (fstat(m->work, &st) || fchown(drafts, st.st_uid, st.st_gid) || fchmod(drafts, 0700))
        return err_sys(e, errno, "hand over the overlay's drafts");
    return tree_remove(drafts, e);
}

static int mount_at(const struct root *r, const struct overlay_layers *layers, int idmap_fd,
                    const char *place, int *ret, struct err *e)
{
    assert(layers->lower_count > 0 && layers->lower_count <= OVERLAY_LOWERS_MAX);
    scoped(mounts_done) struct mounts m = MOUNTS_NONE;
    scoped(fd_closep) int fd = -1;
    /* Without these attributes a directory that was removed and made again would show what is below. */
    if (fgetxattr(layers->upper_fd, "user.overlay.opaque", NULL, 0) < 0 && errno != ENODATA)
        return err_set(e, ERR_UNAVAILABLE, "this file system has no user attributes for overlays");
    if (overlay_clean(layers->work_fd, e) || clone_layers(r, layers, idmap_fd, &m, e))
        return -1;
    int why = create(&m, place, &fd);
    if (why)
        return err_sys(e, why, "mount the overlay");
    if (tidy(&m, e))
        return -1;
    *ret = take_fd(&fd);
    return 0;
}

int overlay_mount(const struct root *r, const struct overlay_layers *layers, int idmap_fd, int *ret,
                  struct err *e)
{
    return mount_at(r, layers, idmap_fd, ROOT_DATA, ret, e);
}

int overlay_clean(int work_fd, struct err *e)
{
    return tree_remove(work_fd, e) ? err_wrap(e, "empty the overlay's work directory") : 0;
}

/* Where it is tried out, and what belongs to whom there: any ids that are nobody's. */
#define BENCH "/tmp"
static const struct root_ids trial_disk = {1000, 1000}, trial_host = {1000000000, 1000000000};

static int open_dir(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A whole overlay, as a session gets it, of a tmpfs: which must map ids (Linux 6.3) and have user
 * attributes (6.6). */
static int try_whole(int idmap_fd, int *ret, struct err *e)
{
    static const char *const dirs[] = {BENCH "/home/data", BENCH "/home/work", BENCH "/lower"};
    int fds[3];
    for (size_t i = 0; i < 3; i++) {
        fds[i] = open_dir(dirs[i]);
        if (idmap_fd >= 0 && chown(dirs[i], trial_disk.uid, trial_disk.gid))
            err_sys(e, errno, "chown"); /* then it will fail below */
    }
    scoped(fd_closep) int upper = fds[0], work = fds[1], lower = fds[2];
    scoped(fd_closep) int ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    const struct overlay_layers layers = {upper, work, &lower, 1};
    const struct root here = {.host_ns = ns, .template_ns = ns};
    return mount_at(&here, &layers, idmap_fd, BENCH "/place", ret, e);
}

/* Where a tmpfs cannot: one that is only read, as root of directories that lie on the disk. */
static int try_reading(int idmap_fd, int *ret)
{
    const char *const dirs[] = {idmap_fd < 0 ? BENCH "/home" : "/usr",
                                idmap_fd < 0 ? BENCH "/lower" : "/etc"};
    scoped(mounts_done) struct mounts m = MOUNTS_NONE;
    struct err ignored = {0};
    m.fds[HOME] = -1;
    for (m.count = 1; m.count < 3; m.count++) {
        int fd = (int)syscall(SYS_open_tree, AT_FDCWD, dirs[m.count - 1],
                              OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (fd < 0)
            return errno;
        m.fds[m.count] = fd;
        if (root_restrict(fd, MOUNT_ATTR_RDONLY, idmap_fd, "a layer", &ignored)) {
            (void)close(fd);
            return EOPNOTSUPP;
        }
    }
    return create(&m, BENCH "/place", ret);
}

int overlay_try(bool is_root)
{
    scoped(fd_closep) int idmap = -1, made = -1;
    struct err e = {0};
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmp", BENCH, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755") ||
        mkdir(BENCH "/home", 0755) || mkdir(BENCH "/home/data", 0755) ||
        mkdir(BENCH "/home/work", 0755) || mkdir(BENCH "/lower", 0755) ||
        mkdir(BENCH "/place", 0755))
        return errno;
    if (is_root && root_idmap(&trial_disk, &trial_host, /* has_root= */ true, &idmap, &e))
        return EPERM;
    return try_whole(idmap, &made, &e) == 0 ? 0 : try_reading(idmap, &made);
}
