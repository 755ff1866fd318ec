#include "base/graft.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/id.h"
#include "base/scope.h"
#include "base/walk.h"

enum { HOLLOW_DEPTH_MAX = 32 };

struct grafting {
    int from_fd, to_fd;
    enum graft_removal removal;
    const int64_t *until_us; /* NULL: never */
    struct graft_result *result;
    struct walk_path path; /* of the change at hand */
};

static void failed(struct grafting *g, int errnum)
{
    struct graft_result *r = g->result;
    if (r->failed++ == 0) {
        r->first_errno = errnum;
        snprintf(r->first_failed, sizeof r->first_failed, "%.255s", g->path.text);
    }
}

static bool is_whiteout(unsigned mode, unsigned major, unsigned minor)
{
    return S_ISCHR(mode) && major == 0 && minor == 0;
}

/* A name for what is not finished, that nobody can guess. */
static int make_draft_name(char ret[ID_SIZE])
{
    struct err ignored = {0};
    return id_make(".cicada-", ret, &ignored) ? -EIO : 0;
}

/* A directory that was removed from an overlay comes back empty: what lies below it in lower layers
 * stays hidden. It takes the whiteout's place in one step. */
static int uncover(int dir_fd, const char *name)
{
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (!is_whiteout(st.st_mode, major(st.st_rdev), minor(st.st_rdev)))
        return -ENOTDIR;
    char draft[ID_SIZE];
    int error = make_draft_name(draft);
    if (error)
        return error;
    if (mkdirat(dir_fd, draft, 0755))
        return -errno;
    scoped(fd_closep) int made = below_open(dir_fd, draft, O_RDONLY | O_DIRECTORY);
    if (made < 0)
        error = made;
    else if (fsetxattr(made, "user.overlay.opaque", "y", 1, 0) ||
             renameat2(dir_fd, draft, dir_fd, name, RENAME_EXCHANGE))
        error = -errno;
    (void)unlinkat(dir_fd, draft, error ? AT_REMOVEDIR : 0); /* a stray name at worst */
    return error;
}

/* Makes and opens one directory on the way; or -errno. */
static int open_step(const struct grafting *g, int dir_fd, const char *name)
{
    if (mkdirat(dir_fd, name, 0755) && errno != EEXIST)
        return -errno;
    int fd = below_open(dir_fd, name, O_PATH | O_DIRECTORY);
    if (fd != -ENOTDIR || g->removal != GRAFT_WHITEOUT)
        return fd;
    int error = uncover(dir_fd, name);
    return error ? error : below_open(dir_fd, name, O_PATH | O_DIRECTORY);
}

static int make_way(const struct grafting *g, const char *way)
{
    int at = below_open(g->to_fd, ".", O_PATH | O_DIRECTORY);
    while (at >= 0 && *way) {
        char name[NAME_MAX + 1];
        size_t len = strcspn(way, "/");
        assert(len < sizeof name); /* it is a name on disk */
        memcpy(name, way, len);
        name[len] = '\0';
        int next = open_step(g, at, name);
        (void)close(at);
        at = next;
        way += len + (way[len] == '/');
    }
    return at;
}

/* Opens the directory the change belongs in, and makes it if asked to; or -errno. *ret_name is the
 * last name of the path. */
static int open_parent(struct grafting *g, bool is_made, const char **ret_name)
{
    char *slash = strrchr(g->path.text, '/');
    *ret_name = slash ? slash + 1 : g->path.text;
    if (!slash)
        return below_open(g->to_fd, ".", O_PATH | O_DIRECTORY);
    *slash = '\0';
    int fd = below_open(g->to_fd, g->path.text, O_PATH | O_DIRECTORY);
    if (is_made && (fd == -ENOENT || fd == -ENOTDIR))
        fd = make_way(g, g->path.text);
    *slash = '/';
    return fd;
}

static int fill_draft(const struct grafting *g, int from, int to, mode_t mode)
{
    uint64_t len;
    struct stat st;
    int error = copy_content_until(from, to, INT64_MAX, g->until_us, &len);
    if (error)
        return error;
    if (fchmod(to, mode & 0100 ? 0755 : 0644) || fstat(from, &st))
        return -errno;
    return futimens(to, (const struct timespec[]){st.st_mtim, st.st_mtim}) ? -errno : 0;
}

/* Whether nothing but directories is in it. */
static bool is_hollow(int dir_fd, const char *name, unsigned depth)
{
    struct dir d;
    bool is_so = depth > 0;
    int fd = is_so ? below_open_dir(dir_fd, name) : -1;
    if (fd < 0)
        return false;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; is_so && (entry = dir_next(&d));)
        is_so = entry->d_type == DT_DIR && is_hollow(fd, entry->d_name, depth - 1);
    is_so = is_so && !d.error;
    dir_done(&d);
    return is_so;
}

static void remove_hollow(int dir_fd, const char *name, unsigned depth)
{
    struct dir d;
    int fd = depth > 0 ? below_open_dir(dir_fd, name) : -1;
    if (fd < 0)
        return;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));)
        remove_hollow(fd, entry->d_name, depth - 1);
    dir_done(&d);
    (void)unlinkat(dir_fd, name, AT_REMOVEDIR); /* if it stays, so does what is above it */
}

/* Directories that have lost all their files give way to a file of that name. */
static int put_name(int dir_fd, const char *draft, const char *name)
{
    if (renameat(dir_fd, draft, dir_fd, name) == 0)
        return 0;
    if (errno != EISDIR || !is_hollow(dir_fd, name, HOLLOW_DEPTH_MAX))
        return -errno;
    remove_hollow(dir_fd, name, HOLLOW_DEPTH_MAX);
    return renameat(dir_fd, draft, dir_fd, name) ? -errno : 0;
}

/* The file is whole before it has its name. */
static int put_file(const struct grafting *g, int from, mode_t mode, int dir_fd, const char *name)
{
    char draft[ID_SIZE];
    int error = make_draft_name(draft);
    if (error)
        return error;
    scoped(fd_closep) int to =
        openat(dir_fd, draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return -errno;
    error = fill_draft(g, from, to, mode);
    if (!error)
        error = put_name(dir_fd, draft, name);
    if (error)
        (void)unlinkat(dir_fd, draft, 0); /* the failure is counted already */
    return error;
}

static int put_whiteout(int dir_fd, const char *name)
{
    char draft[ID_SIZE];
    int error = make_draft_name(draft);
    if (error)
        return error;
    if (mknodat(dir_fd, draft, S_IFCHR, makedev(0, 0)))
        return -errno;
    if (renameat(dir_fd, draft, dir_fd, name) == 0)
        return 0;
    error = -errno;
    (void)unlinkat(dir_fd, draft, 0); /* the failure is counted already */
    return error;
}

/* And some for directories that are made. */
static uint64_t bytes_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) ? 0 : ((uint64_t)st.st_size + 4095) / 4096 * 4096 + 4096;
}

static bool is_late(const struct grafting *g)
{
    return g->until_us && clock_us() >= __atomic_load_n(g->until_us, __ATOMIC_RELAXED);
}

static int put(struct grafting *g, mode_t mode, struct err *e)
{
    scoped(fd_closep) int from = below_open(g->from_fd, g->path.text, O_RDONLY);
    if (from < 0)
        return err_sys(e, -from, "open a change");
    const char *name;
    scoped(fd_closep) int dir_fd = open_parent(g, /* is_made= */ true, &name);
    uint64_t bytes = bytes_of(from);
    g->result->begun_bytes += bytes;
    int error = dir_fd < 0 ? dir_fd : put_file(g, from, mode, dir_fd, name);
    if (error == -ENOMEM)
        return err_set(e, ERR_NO_MEMORY, "copy a change");
    if (error) {
        failed(g, -error);
        return 0;
    }
    g->result->put++;
    g->result->bytes += bytes;
    return 0;
}

/* What is not there need not be removed, unless a lower layer has it. */
static void remove_file(struct grafting *g)
{
    bool is_covered = g->removal == GRAFT_WHITEOUT;
    const char *name;
    scoped(fd_closep) int dir_fd = open_parent(g, is_covered, &name);
    int error = dir_fd < 0 ? dir_fd : 0;
    if (!error && is_covered)
        error = put_whiteout(dir_fd, name);
    else if (!error && unlinkat(dir_fd, name, 0))
        error = -errno;
    if (!error)
        g->result->removed++;
    else if (error != -ENOENT || is_covered)
        failed(g, -error);
}

static int apply(struct grafting *g, struct walk *w, const struct walk_entry *entry, struct err *e)
{
    if (!walk_path_set(&g->path, entry)) {
        failed(g, ENAMETOOLONG);
        return 0;
    }
    if (entry->error)
        return err_sys(e, entry->error, "look at a change");
    const struct statx *st = &entry->st;
    if (S_ISDIR(st->stx_mode)) {
        int error = walk_enter(w);
        return error ? err_sys(e, -error, "open a directory of changes") : 0;
    }
    if (is_late(g)) {
        failed(g, ETIME);
        return 0;
    }
    if (S_ISREG(st->stx_mode))
        return put(g, st->stx_mode, e);
    if (is_whiteout(st->stx_mode, st->stx_rdev_major, st->stx_rdev_minor))
        remove_file(g);
    else
        failed(g, EINVAL);
    return 0;
}

static void walk_freep(struct walk **wp)
{
    walk_free(*wp);
}

int graft_until(int from_fd, int to_fd, enum graft_removal removal, const int64_t *until_us,
                struct graft_result *ret, struct err *e)
{
    *ret = (struct graft_result){0};
    scoped(walk_freep) struct walk *w = NULL;
    if (walk_new(from_fd, &w, e))
        return err_wrap(e, "apply changes");
    scoped(freep) struct grafting *g = calloc(1, sizeof *g);
    if (!g)
        return err_set(e, ERR_NO_MEMORY, "apply changes");
    *g = (struct grafting){.from_fd = from_fd,
                           .to_fd = to_fd,
                           .removal = removal,
                           .until_us = until_us,
                           .result = ret};
    struct walk_entry entry;
    while (walk_next(w, &entry))
        if (apply(g, w, &entry, e))
            return err_wrap(e, "apply changes");
    if (walk_lost(w) > 0)
        return err_set(e, ERR_INTERNAL, "apply changes: a directory of them could not be read");
    return 0;
}

int graft(int from_fd, int to_fd, enum graft_removal removal, struct graft_result *ret,
          struct err *e)
{
    return graft_until(from_fd, to_fd, removal, /* until_us= */ NULL, ret, e);
}
