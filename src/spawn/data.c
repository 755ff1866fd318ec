/* The data directory of a jail: checked, mounted, and for a parked jail handed in later. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "sandbox/root.h"
#include "spawn/jail_int.h"

/* The engine says which directory, but not any: it must be open for reading, which an engine
 * without the right to it cannot do; and what a session creates belongs on disk to the directory's
 * owner: if that were root, it could leave set-uid root programs there. */
int jail_check_data(struct jail *j, struct err *e)
{
    struct stat st;
    int flags = fcntl(j->data_fd, F_GETFL);
    if (flags < 0 || fstat(j->data_fd, &st))
        return err_sys(e, errno, "look at the data directory");
    if (!S_ISDIR(st.st_mode) || (flags & O_PATH))
        return err_set(e, ERR_INVALID, "the data directory is not an open directory");
    if (j->host->is_root && st.st_uid == 0)
        return err_set(e, ERR_DENIED, "the data directory belongs to root");
    if (j->host->is_root && j->host->data_uid != 0 && st.st_uid != j->host->data_uid)
        return err_set(e, ERR_DENIED, "the data directory is not the engine's own");
    return 0;
}

/* The map for files of that owner: the one that was made in advance if it fits. */
static int prepare_map(struct jail *j, uid_t disk_uid, gid_t disk_gid, struct err *e)
{
    uid_t uid = host_uid(j->host, j->slot);
    if (j->map.fd >= 0 && j->map.uid == disk_uid && j->map.gid == disk_gid)
        return 0;
    fd_closep(&j->map.fd);
    j->map = (struct idmap){.fd = -1, .uid = disk_uid, .gid = disk_gid};
    return root_idmap(disk_uid, disk_gid, uid, uid, &j->map.fd, e);
}

void jail_expect_data(struct jail *j)
{
    const struct habit *habit = &j->host->habit;
    struct err ignored = {0}; /* if it fails again, that will be told */
    if (j->host->is_root && habit->uid != 0)
        (void)prepare_map(j, habit->uid, habit->gid, &ignored);
}

/* A mount that is nowhere yet, which the caller closes. */
static int make_data(struct jail *j, int *ret_mount, struct err *e)
{
    struct host *host = j->host;
    struct stat st;
    if (!host->is_root)
        return root_data(&host->root, j->data_fd, -1, ret_mount, e);
    if (fstat(j->data_fd, &st))
        return err_sys(e, errno, "look at the data directory");
    uid_t uid = host_uid(host, j->slot);
    host->habit.uid = st.st_uid;
    host->habit.gid = st.st_gid;
    if (prepare_map(j, st.st_uid, st.st_gid, e))
        return -1;
    if (root_data(&host->root, j->data_fd, j->map.fd, ret_mount, e) == 0)
        return 0;
    if (e->code != ERR_UNAVAILABLE)
        return -1;
    /* A file system without id-mapped mounts: then the files change hands for the time being. */
    if (jail_hand_over(j, uid, e))
        return -1;
    return root_data(&host->root, j->data_fd, -1, ret_mount, e);
}

int jail_count_data(struct jail *j, struct err *e)
{
    const struct host *host = j->host;
    if (usage_new(j->data_fd, &j->usage, e))
        return -1;
    /* An image may be replaced and removed while sessions live on it. */
    if (j->image_fd >= 0 && usage_ignore(j->usage, j->image_fd, e))
        return -1;
    fd_closep(&j->image_fd);
    j->image_fd = -1;
    usage_set_init(j->usage, j->init,
                   !j->has_namespaces && host->is_root ? host_uid(host, j->slot) : 0);
    return 0;
}

int jail_send_data(struct jail *j, int sock, struct err *e)
{
    scoped(fd_closep) int mount_fd = -1;
    if (make_data(j, &mount_fd, e))
        return -1;
    return fd_send(sock, "m", 1, &mount_fd, 1, e) ? err_wrap(e, "hand over /mnt/data") : 0;
}

void jail_attach(struct jail *j, int data_fd)
{
    struct err e = {0};
    if (j->life != LIFE_LIVE || j->data != DATA_AWAITED) {
        (void)close(data_fd);
        jail_break(j, "attach a data directory: the jail is not parked", 0);
        return;
    }
    j->data_fd = data_fd;
    j->data = DATA_SENT;
    /* What is there is counted while pid 1 mounts it: no code can change it before ATTACHED. */
    if (jail_check_data(j, &e) || jail_send_data(j, j->attach, &e) || jail_count_data(j, &e))
        jail_break(j, e.text, 0);
}

/* Pid 1 has closed its socket. If it had mounted everything, it is as any other pid 1 now; if not,
 * it is ending. */
static void on_settled(struct jail *j)
{
    bool is_mounted = j->data == DATA_MOUNTED;
    jail_drop(j, &j->attach);
    if (!is_mounted || j->life != LIFE_LIVE)
        return;
    j->data = DATA_THERE;
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
    } else if (len == 1 && j->data == DATA_SENT) {
        j->data = DATA_MOUNTED;
    } else if (len == 0) {
        on_settled(j);
    }
}
