#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/walk.h"
#include "session/working_int.h"

struct copying {
    const struct working *from, *to;
    uint64_t left; /* bytes that may still be copied */
    struct walk_path path;
};

/* Opens the directory that the entry at hand belongs in; or -errno. */
static int open_place(struct copying *c)
{
    char *slash = strrchr(c->path.text, '/');
    if (slash)
        *slash = '\0';
    int fd = below_open(c->to->data.dir_fd, slash ? c->path.text : ".", O_PATH | O_DIRECTORY);
    if (slash)
        *slash = '/';
    return fd;
}

static int copy_file(struct copying *c, int dir_fd, const char *name, struct err *e)
{
    struct file_stamp is = {0};
    scoped(fd_closep) int from = below_open(c->from->data.dir_fd, c->path.text, O_RDONLY);
    if (from < 0)
        return 0; /* it vanished, or its owner closed it: then nobody can have it */
    (void)content_settle(from, /* is_written_back= */ false, &is); /* nobody runs */
    if (is.kind != STAMP_FILE)
        return 0;
    if (is.stored > c->left) /* holes stay holes */
        return err_set(e, ERR_LIMIT, "the session's files are too large to be copied");
    c->left -= is.stored;
    scoped(fd_closep) int to =
        openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return err_sys(e, errno, "make a file");
    uint64_t len;
    int error = copy_content(from, to, is.size, &len);
    if (error)
        return err_sys(e, -error, "copy a file");
    return fchmod(to, is.is_executable ? 0755 : 0644) ? err_sys(e, errno, "copy a file") : 0;
}

static int copy_directory(struct walk *w, int dir_fd, const char *name, bool is_upper,
                          struct err *e)
{
    int error = walk_enter(w);
    if (error == -ENOMEM)
        return err_set(e, ERR_NO_MEMORY, "copy a directory");
    if (mkdirat(dir_fd, name, 0755))
        return err_sys(e, errno, "make a directory");
    if (error || !is_upper || !overlay_is_opaque(walk_dir(w)))
        return 0; /* closed by its owner: empty */
    scoped(fd_closep) int made = below_open(dir_fd, name, O_RDONLY | O_DIRECTORY);
    if (made < 0 || fsetxattr(made, "user.overlay.opaque", "y", 1, 0))
        return err_sys(e, made < 0 ? -made : errno, "mark a directory");
    return 0;
}

static int copy_link(const struct copying *c, int dir_fd, const char *name, struct err *e)
{
    char target[PATH_MAX];
    scoped(fd_closep) int link = below_open(c->from->data.dir_fd, c->path.text, O_PATH);
    ssize_t len = link < 0 ? -1 : readlinkat(link, "", target, sizeof target - 1);
    if (len < 0)
        return 0; /* it vanished */
    target[len] = '\0';
    return symlinkat(target, dir_fd, name) ? err_sys(e, errno, "copy a link") : 0;
}

static int copy_entry(struct copying *c, struct walk *w, const struct walk_entry *entry,
                      struct err *e)
{
    const struct statx *st = &entry->st;
    bool is_upper = c->from->rules.is_upper;
    if (entry->error || entry->is_other_mount || !walk_path_set(&c->path, entry))
        return 0;
    const char *slash = strrchr(c->path.text, '/'), *name = slash ? slash + 1 : c->path.text;
    scoped(fd_closep) int dir_fd = open_place(c);
    if (dir_fd < 0)
        return err_sys(e, -dir_fd, "open the directory to copy to");
    if (S_ISDIR(st->stx_mode))
        return copy_directory(w, dir_fd, name, is_upper, e);
    if (S_ISREG(st->stx_mode))
        return copy_file(c, dir_fd, name, e);
    if (S_ISLNK(st->stx_mode))
        return copy_link(c, dir_fd, name, e);
    bool is_whiteout = S_ISCHR(st->stx_mode) && !st->stx_rdev_major && !st->stx_rdev_minor;
    if (is_upper && is_whiteout && mknodat(dir_fd, name, S_IFCHR, makedev(0, 0)))
        return err_sys(e, errno, "make a whiteout");
    return 0; /* pipes and sockets are nothing without who made them */
}

static void walk_freep(struct walk **wp)
{
    walk_free(*wp);
}

int working_copy(struct working *from, struct working *to, uint64_t size_max, struct err *e)
{
    scoped(walk_freep) struct walk *w = NULL;
    if (walk_new(from->data.dir_fd, &w, e))
        return err_wrap(e, "copy the session's files");
    scoped(freep) struct copying *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, ERR_NO_MEMORY, "copy the session's files");
    c->from = from;
    c->to = to;
    c->left = size_max;
    struct walk_entry entry;
    while (walk_next(w, &entry))
        if (copy_entry(c, w, &entry, e))
            return err_wrap(e, "copy the session's files");
    return 0;
}

/* ---- tidying ---- */

static int tidy_entry(const struct working *w, struct walk *walk, const struct walk_entry *entry,
                      const char *path, struct err *e)
{
    struct lower_place place;
    if (S_ISDIR(entry->st.stx_mode)) {
        (void)walk_enter(walk); /* what is closed to us is not looked at, either */
        return 0;
    }
    bool is_whiteout = S_ISCHR(entry->st.stx_mode) && entry->st.stx_rdev_major == 0 &&
                       entry->st.stx_rdev_minor == 0;
    if (!is_whiteout)
        return 0;
    if (lowers_find(&w->data, path, &place, e))
        return -1;
    if (place.kind == LOWER_NOTHING)
        (void)unlinkat(walk_dir(walk), entry->name, 0); /* it is only seen, at worst */
    return 0;
}

int working_tidy(struct working *w, struct err *e)
{
    struct walk *walk;
    struct walk_entry entry;
    int failed = 0;
    if (w->data.lower_count == 0)
        return 0;
    scoped(freep) struct walk_path *path = calloc(1, sizeof *path);
    if (!path)
        return err_set(e, ERR_NO_MEMORY, "tidy a layer");
    if (walk_new(w->data.dir_fd, &walk, e))
        return -1;
    while (!failed && walk_next(walk, &entry))
        if (!entry.error && walk_path_set(path, &entry))
            failed = tidy_entry(w, walk, &entry, path->text, e);
    walk_free(walk);
    return failed;
}
