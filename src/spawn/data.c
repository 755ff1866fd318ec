/* The data directory of a jail: checked, mounted, and for a parked jail handed in later. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "sandbox/overlay.h"
#include "sandbox/root.h"
#include "spawn/jail_int.h"

/* The engine says which directory, but not any: it must be open for reading, which an engine
 * without the right to it cannot do; and what a session creates belongs on disk to the directory's
 * owner: if that were root, it could leave set-uid root programs there. */
static int check_directory(const struct jail *j, int fd, struct stat *ret, struct err *e)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &st))
        return err_sys(e, errno, "look at the data directory");
    if (!S_ISDIR(st.st_mode) || (flags & O_PATH))
        return err_set(e, ERR_INVALID, "the data directory is not an open directory");
    if (j->host->is_root && st.st_uid == 0)
        return err_set(e, ERR_DENIED, "the data directory belongs to root");
    if (j->host->is_root && j->host->data_uid != 0 && st.st_uid != j->host->data_uid)
        return err_set(e, ERR_DENIED, "the data directory is not the engine's own");
    *ret = st;
    return 0;
}

/* All layers have one owner, for there is one map of ids. */
int jail_check_data(struct jail *j, struct err *e)
{
    int fds[JAIL_DATA_FDS];
    struct stat first, st;
    size_t count = jail_data_fds(&j->data, fds);
    int why = j->host->hello.failure[MECH_OVERLAY];
    if (count > 1 && why)
        return err_sys(e, why, "overlays cannot be made on this host");
    if (check_directory(j, fds[0], &first, e))
        return -1;
    for (size_t i = 1; i < count; i++) {
        if (check_directory(j, fds[i], &st, e))
            return -1;
        if (st.st_uid != first.st_uid || st.st_gid != first.st_gid)
            return err_set(e, ERR_DENIED, "the layers of the data directory have several owners");
    }
    return 0;
}

/* The map for files of that owner: the one that was made in advance if it fits. */
static int prepare_map(struct jail *j, uid_t disk_uid, gid_t disk_gid, struct err *e)
{
    if (j->map.fd >= 0 && j->map.uid == disk_uid && j->map.gid == disk_gid)
        return 0;
    fd_closep(&j->map.fd);
    j->map = (struct idmap){.fd = -1, .uid = disk_uid, .gid = disk_gid};
    return spare_make_map(j->host, j->slot, &j->map, e);
}

void jail_expect_data(struct jail *j)
{
    const struct habit *habit = &j->host->habit;
    struct err ignored = {0}; /* if it fails again, that will be told */
    if (j->host->is_root && habit->uid != 0)
        (void)prepare_map(j, habit->uid, habit->gid, &ignored);
}

/* Nobody else may have an overlay with that upper layer: not another jail, nor one that is ending and
 * has yet to be cleaned up after, whoever made it. */
static int lock_overlay(struct jail *j, struct err *e)
{
    j->lock_fd = openat(j->data.work_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->lock_fd < 0)
        return err_sys(e, errno, "open the work directory");
    if (flock(j->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    int why = errno;
    fd_closep(&j->lock_fd);
    j->lock_fd = -1;
    return why == EWOULDBLOCK ? err_set(e, ERR_CONFLICT, "the data directory is in use")
                              : err_sys(e, why, "lock the work directory");
}

void jail_end_overlay(struct jail *j)
{
    struct err ignored = {0}; /* the next one to use it cleans up too, and then it is told */
    fd_closep(&j->merged_fd);
    j->merged_fd = -1;
    if (j->lock_fd < 0)
        return;
    (void)overlay_clean(j->data.work_fd, &ignored);
    /* Closing alone is not enough: a process that was just cloned may hold a copy. */
    (void)flock(j->lock_fd, LOCK_UN);
    fd_closep(&j->lock_fd);
    j->lock_fd = -1;
}

/* A descriptor of what the session sees stays with us, to bring changes by. */
static int make_overlay(struct jail *j, int idmap_fd, int *ret_mount, struct err *e)
{
    const struct overlay_layers layers = {j->data.dir_fd, j->data.work_fd, j->data.lower_fds,
                                          j->data.lower_count};
    scoped(fd_closep) int fd = -1;
    struct stat st;
    if (lock_overlay(j, e) || overlay_mount(&j->host->root, &layers, idmap_fd, &fd, e))
        return -1;
    j->merged_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->merged_fd < 0 || fstat(j->merged_fd, &st))
        return err_sys(e, errno, "open the overlay");
    j->overlay_device = st.st_dev;
    if (j->usage)
        usage_also(j->usage, st.st_dev);
    *ret_mount = take_fd(&fd);
    return 0;
}

static int make_plain(struct jail *j, int idmap_fd, int *ret_mount, struct err *e)
{
    scoped(fd_closep) int fd = -1;
    if (root_data(&j->host->root, j->data.dir_fd, idmap_fd, &fd, e))
        return -1;
    j->merged_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->merged_fd < 0)
        return err_sys(e, errno, "open the data directory");
    *ret_mount = take_fd(&fd);
    return 0;
}

/* A mount that is nowhere yet, which the caller closes. */
static int make_data(struct jail *j, int *ret_mount, struct err *e)
{
    struct host *host = j->host;
    struct stat st;
    bool is_overlay = j->data.lower_count > 0;
    if (!host->is_root && is_overlay)
        return make_overlay(j, /* idmap_fd= */ -1, ret_mount, e);
    if (!host->is_root)
        return make_plain(j, /* idmap_fd= */ -1, ret_mount, e);
    if (fstat(j->data.dir_fd, &st))
        return err_sys(e, errno, "look at the data directory");
    uid_t uid = host_uid(host, j->slot);
    host->habit.uid = st.st_uid;
    host->habit.gid = st.st_gid;
    if (prepare_map(j, st.st_uid, st.st_gid, e))
        return -1;
    if (is_overlay)
        return make_overlay(j, j->map.fd, ret_mount, e);
    if (make_plain(j, j->map.fd, ret_mount, e) == 0)
        return 0;
    if (e->code != ERR_UNAVAILABLE)
        return -1;
    /* A file system without id-mapped mounts: then the files change hands for the time being. */
    if (jail_hand_over(j, uid, e))
        return -1;
    return make_plain(j, /* idmap_fd= */ -1, ret_mount, e);
}

int jail_count_data(struct jail *j, struct err *e)
{
    const struct host *host = j->host;
    if (usage_new(j->data.dir_fd, &j->usage, e))
        return -1;
    j->disk = reserve_join(&j->host->reserve, j->data.dir_fd);
    j->mark = j->told = usage_total(j->usage);
    j->marked_us = clock_us();
    /* An image may be replaced and removed while sessions live on it. */
    if (j->image_fd >= 0 && usage_ignore(j->usage, j->image_fd, e))
        return -1;
    fd_closep(&j->image_fd);
    j->image_fd = -1;
    if (j->data.lower_count > 0)
        usage_also(j->usage, j->overlay_device);
    usage_set_init(j->usage, j->init,
                   !j->has_namespaces && host->is_root ? host_uid(host, j->slot) : 0);
    return 0;
}

void jail_grant(struct jail *j, uint64_t bytes, uint64_t files)
{
    usage_grant(j->usage, bytes, files);
    j->mark.bytes += bytes;
    j->mark.files += files;
    j->told.bytes += bytes;
    j->told.files += files;
}

int jail_send_data(struct jail *j, int sock, struct err *e)
{
    scoped(fd_closep) int mount_fd = -1;
    if (make_data(j, &mount_fd, e))
        return -1;
    return fd_send(sock, "m", 1, &mount_fd, 1, e) ? err_wrap(e, "hand over /mnt/data") : 0;
}

void jail_data_close(struct jail_data *data)
{
    int fds[JAIL_DATA_FDS];
    size_t count = jail_data_fds(data, fds);
    for (size_t i = 0; i < count; i++)
        fd_closep(&fds[i]);
    *data = JAIL_DATA_PLAIN(-1);
}

void jail_attach(struct jail *j, const struct jail_data *data)
{
    struct jail_data came = *data;
    struct err e = {0};
    if (j->life != LIFE_LIVE || j->has != DATA_AWAITED) {
        jail_data_close(&came);
        jail_break(j, "attach a data directory: the jail is not parked", 0);
        return;
    }
    j->data = came;
    j->has = DATA_SENT;
    /* What is there is counted while pid 1 mounts it: no code can change it before ATTACHED. */
    if (jail_check_data(j, &e) || jail_send_data(j, j->attach, &e) || jail_count_data(j, &e))
        jail_break(j, e.text, 0);
}

/* Pid 1 has closed its socket. If it had mounted everything, it is as any other pid 1 now; if not,
 * it is ending. */
static void on_settled(struct jail *j)
{
    bool is_mounted = j->has == DATA_MOUNTED;
    jail_drop(j, &j->attach);
    if (!is_mounted || j->life != LIFE_LIVE)
        return;
    j->has = DATA_THERE;
    jail_look_soon(j);
    jail_tell(j, &(struct jail_event){.kind = JAIL_ATTACHED});
}

void jail_on_attach(struct jail *j)
{
    struct inside_failure failure;
    char bytes[sizeof failure];
    scoped(fd_closep) int none = -1;
    size_t len = jail_hear(j->attach, bytes, &none);
    if (len == sizeof failure) {
        memcpy(&failure, bytes, sizeof failure);
        failure.step[sizeof failure.step - 1] = '\0';
        jail_break(j, failure.step, failure.why);
    } else if (len == 1 && j->has == DATA_SENT) {
        j->has = DATA_MOUNTED;
    } else if (len == 0) {
        on_settled(j);
    }
}
