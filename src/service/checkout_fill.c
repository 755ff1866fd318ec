/* checkout_fill.c -- what is in a layer: the files that changed, linked from older layers or written. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "service/checkout_int.h"
#include "service/materialise.h"
#include "workspace/files.h"

enum { PAGE = 1000 };

/* The file as it is in an old layer, if it is there: nothing in the layers above it has changed it
 * since, or it would be found there first. */
static bool link_old(const struct making *m, const struct file_row *f)
{
    for (const struct layer *l = m->old; l; l = l->below) {
        struct stat st;
        if (fstatat(l->fd, f->path, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        if (!S_ISREG(st.st_mode) || f->rev > m->old->to || (uint64_t)st.st_size != f->content.size)
            return false;
        struct err ignored = {0};
        scoped(fd_closep) int at = -1;
        const char *name;
        return materialise_way(m->fd, f->path, &at, &name, &ignored) == 0 &&
               linkat(l->fd, f->path, at, name, 0) == 0;
    }
    return false;
}

/* Whether the layers below show something there. A whiteout over nothing would be seen in listings. */
static bool is_below(const struct making *m, const char *path)
{
    for (const struct layer *l = m->old; l; l = l->below) {
        struct stat st;
        if (fstatat(l->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return !S_ISCHR(st.st_mode);
        if (errno == ENOTDIR)
            return false;
    }
    return false;
}

static int make_one(const struct making *m, const struct file_row *f, struct err *e)
{
    if (f->state == FILE_TRASHED)
        return m->from && is_below(m, f->path) ? materialise_gone(m->fd, f->path, e) : 0;
    if (f->kind == FILE_DIR) {
        scoped(fd_closep) int at = -1;
        const char *name;
        if (materialise_way(m->fd, f->path, &at, &name, e))
            return -1;
        return mkdirat(at, name, 0755) && errno != EEXIST ? err_sys(e, errno, "make a directory")
                                                          : 0;
    }
    if (m->from == 0 && link_old(m, f))
        return 0;
    return materialise(m->files, m->ws, &f->content, m->fd, f->path, f->changed_us, e);
}

int checkout_fill(const struct making *m, struct err *e)
{
    uint64_t after = m->from;
    for (bool has_more = true; has_more;) {
        struct file_rows rows;
        int failed = 0;
        if (meta_file_changes_after(files_meta(m->files), m->ws->id, m->from, after, PAGE, &rows,
                                    e))
            return -1;
        for (size_t i = 0; i < rows.count && !failed; i++) {
            failed = make_one(m, &rows.items[i], e);
            after = rows.items[i].rev;
        }
        has_more = rows.has_more;
        file_rows_done(&rows);
        if (failed)
            return -1;
    }
    return 0;
}
