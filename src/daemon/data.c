#include "daemon/data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/tree.h"
#include "base/walk.h"
#include "daemon/drop.h"

static int fits(int len, struct err *e)
{
    if (len < 0 || len >= PATH_MAX)
        return err_set(e, ERR_INVALID, "the path of a directory is too long");
    return 0;
}

/* A path that ends in a slash would be followed even where links are refused. */
static int copy_path(const char *path, char ret[PATH_MAX], struct err *e)
{
    if (fits(snprintf(ret, PATH_MAX, "%s", path), e))
        return -1;
    for (size_t len = strlen(ret); len > 1 && ret[len - 1] == '/'; len--)
        ret[len - 1] = '\0';
    return 0;
}

/* The value of a variable, if it is an absolute path: others are to be ignored, says XDG. */
static const char *directory_in(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value == '/' ? value : NULL;
}

int data_path(const char *configured, char ret[PATH_MAX], struct err *e)
{
    const char *xdg = directory_in("XDG_DATA_HOME"), *home = directory_in("HOME");
    if (strcmp(configured, "auto") != 0) {
        if (*configured != '/')
            return err_set(e, ERR_INVALID, "the data directory has to be an absolute path");
        return copy_path(configured, ret, e);
    }
    if (geteuid() == 0)
        return fits(snprintf(ret, PATH_MAX, "/var/lib/cicada"), e);
    if (xdg)
        return fits(snprintf(ret, PATH_MAX, "%s/cicada", xdg), e);
    if (home)
        return fits(snprintf(ret, PATH_MAX, "%s/.local/share/cicada", home), e);
    return err_set(e, ERR_NOT_FOUND, "there is no HOME to keep data in; set CICADA_SERVER_DATA");
}

static bool is_empty(int fd)
{
    struct dir d;
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (own < 0)
        return false;
    dir_init(&d, own);
    bool has_entry = dir_next(&d) != NULL;
    bool is_read = d.error == 0;
    dir_done(&d);
    return is_read && !has_entry;
}

/* What an empty directory of root's becomes: the service user's. */
static int give(int fd, const struct drop_user *owner, struct stat *st, const char *what,
                struct err *e)
{
    if (!is_empty(fd))
        return err_set(e, ERR_DENIED, "%.150s belongs to root and is not empty; chown -R it to %s",
                       what, owner->name);
    if (fchown(fd, owner->uid, owner->gid) || fstat(fd, st))
        return err_sys(e, errno, "give %.150s to %s", what, owner->name);
    return 0;
}

/* Checks that the open directory is the service's alone, and gives it the mode it should have. */
static int settle(int fd, mode_t mode, const struct drop_user *owner, const char *what,
                  struct err *e)
{
    struct stat st;
    if (fstat(fd, &st))
        return err_sys(e, errno, "look at %.150s", what);
    /* Before anything is given away: who could write into it may have prepared it. */
    if (st.st_mode & 022)
        return err_set(e, ERR_DENIED, "others may write to %.150s; chmod 700 it", what);
    if (owner->is_change && st.st_uid == 0 && give(fd, owner, &st, what, e))
        return -1;
    if (st.st_uid != owner->uid)
        return err_set(e, ERR_DENIED,
                       "%.120s belongs to uid %u and not to %s; chown -R it or change server.user",
                       what, st.st_uid, owner->name);
    if ((st.st_mode & 07777) != mode && fchmod(fd, mode))
        return err_sys(e, errno, "close %.150s to others", what);
    return 0;
}

/* Opens or makes the last step of `path`, seen from `at_fd`, without following a link there. */
static int make_one(int at_fd, const char *path, mode_t mode, const struct drop_user *owner,
                    const char *what, int *ret_fd, struct err *e)
{
    if (mkdirat(at_fd, path, 0700) && errno != EEXIST)
        return err_sys(e, errno, "make %.150s", what);
    scoped(fd_closep) int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return err_set(e, ERR_DENIED, "%.150s is a link or no directory", what);
    if (fd < 0)
        return err_sys(e, errno, "open %.150s", what);
    if (settle(fd, mode, owner, what, e))
        return -1;
    *ret_fd = take_fd(&fd);
    return 0;
}

/* The directories above, as far as they are missing: ~/.local/share on a new machine. Those are not
 * the service's own, so they get the usual mode and nobody checks them. */
static int make_above(const char *path, struct err *e)
{
    char part[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (mkdir(part, 0755) && errno != EEXIST && access(part, F_OK))
            return err_sys(e, errno, "make %.150s", part);
    }
    return 0;
}

int data_dir(const struct data *d, const char *name, const struct drop_user *owner, int *ret_fd,
             struct err *e)
{
    return make_one(d->fd, name, 0700, owner, name, ret_fd, e) ? err_wrap(e, "the data directory")
                                                               : 0;
}

int data_open(const char *path, const struct drop_user *owner, struct data *ret, struct err *e)
{
    struct data d = DATA_NONE;
    if (copy_path(path, d.path, e) || make_above(d.path, e) ||
        make_one(AT_FDCWD, d.path, 0700, owner, d.path, &d.fd, e) ||
        data_dir(&d, "sleepers", owner, &d.sleepers_fd, e) ||
        data_dir(&d, "live", owner, &d.live_fd, e) || data_dir(&d, "tmp", owner, &d.tmp_fd, e)) {
        data_close(&d);
        return -1;
    }
    *ret = d;
    return 0;
}

void data_close(struct data *d)
{
    fd_closep(&d->tmp_fd);
    fd_closep(&d->live_fd);
    fd_closep(&d->sleepers_fd);
    fd_closep(&d->fd);
    *d = DATA_NONE;
}

static void walk_freep(struct walk **w)
{
    walk_free(*w);
}

/* Their code is dead: nobody moves things under the walk, and it follows no link if somebody does. */
static void reclaim_tree(int fd, const struct drop_user *owner)
{
    scoped(walk_freep) struct walk *w = NULL;
    struct walk_entry entry;
    struct err ignored = {0};
    if (walk_new(fd, &w, &ignored))
        return;
    while (walk_next(w, &entry)) {
        if (entry.error || entry.is_other_mount)
            continue;
        (void)!fchownat(walk_dir(w), entry.name, owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW);
        if (S_ISDIR(entry.st.stx_mode))
            (void)walk_enter(w);
    }
    /* Last: what is cut short is found again. */
    (void)!fchown(fd, owner->uid, owner->gid);
}

static bool is_locked(const struct data *d)
{
    scoped(fd_closep) int lock = openat(d->fd, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0;
}

void data_reclaim(const struct data *d, const struct drop_user *owner)
{
    struct dir all;
    if (!owner->is_change || is_locked(d))
        return;
    int fd = below_open_dir(d->live_fd, ".");
    if (fd < 0)
        return;
    dir_init(&all, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&all));) {
        struct stat st;
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/data", entry->d_name);
        scoped(fd_closep) int one = below_open_dir(d->live_fd, path);
        if (one >= 0 && fstat(one, &st) == 0 && st.st_uid != owner->uid && st.st_uid != 0)
            reclaim_tree(one, owner);
    }
    dir_done(&all);
}

void data_sweep(const struct data *d)
{
    struct err ignored = {0}; /* what stays is tried again at the next start */
    (void)tree_remove(d->tmp_fd, &ignored);
}

int runtime_path(char ret[PATH_MAX], struct err *e)
{
    const char *xdg = directory_in("XDG_RUNTIME_DIR");
    if (geteuid() == 0)
        return fits(snprintf(ret, PATH_MAX, "/run/cicada"), e);
    if (xdg)
        return fits(snprintf(ret, PATH_MAX, "%s/cicada", xdg), e);
    return fits(snprintf(ret, PATH_MAX, "/tmp/cicada-%u", geteuid()), e);
}

int runtime_make(const char *path, const struct drop_user *owner, struct err *e)
{
    char clean[PATH_MAX];
    scoped(fd_closep) int fd = -1;
    if (copy_path(path, clean, e))
        return -1;
    return make_one(AT_FDCWD, clean, owner->is_change ? 0755 : 0700, owner, clean, &fd, e);
}
