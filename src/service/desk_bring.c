/* desk_bring.c -- what others changed comes into a working copy; what a run changed is undone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/graft.h"
#include "base/scope.h"
#include "base/tree.h"
#include "service/desk_int.h"
#include "service/materialise.h"
#include "service/service_int.h"
#include "session/session.h"
#include "session/working.h"

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, PAGE = 1000 };
static const char tree_name[] = "bring";

/* ---- a tree of changes ---- */

static void remove_tree(const struct desk *d)
{
    struct err ignored = {0}; /* then it cannot be made anew, which is told */
    scoped(fd_closep) int fd = openat(d->dir_fd, tree_name, OPEN_DIR);
    if (fd >= 0)
        (void)tree_remove(fd, &ignored);
    (void)unlinkat(d->dir_fd, tree_name, AT_REMOVEDIR);
}

int bringing_begin(struct bringing *b, struct err *e)
{
    remove_tree(b->d);
    b->tree_fd = -1;
    if (mkdirat(b->d->dir_fd, tree_name, 0755))
        return err_sys(e, errno, "make a tree of changes");
    b->tree_fd = openat(b->d->dir_fd, tree_name, OPEN_DIR);
    return b->tree_fd < 0 ? err_sys(e, errno, "make a tree of changes") : 0;
}

void bringing_done(struct bringing *b)
{
    fd_closep(&b->tree_fd);
    remove_tree(b->d);
    for (size_t i = 0; i < b->count; i++)
        free(b->paths[i]);
    free(b->paths);
    free(b->has_failed);
    b->has_failed = NULL;
    b->paths = NULL;
    b->count = 0;
}

static int list_path(struct bringing *b, const char *path, struct err *e)
{
    if (b->count % 64 == 0) {
        char **grown = realloc(b->paths, (b->count + 64) * sizeof(char *));
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "bring files");
        b->paths = grown;
    }
    char *copy = strdup(path);
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "bring files");
    b->paths[b->count++] = copy;
    return 0;
}

int bringing_put(struct bringing *b, const char *path, const struct content *content,
                 int64_t changed_us, struct err *e)
{
    return materialise(b->d->service->o.files, b->ws, content, b->tree_fd, path, changed_us, e) ||
                   list_path(b, path, e)
               ? -1
               : 0;
}

int bringing_remove(struct bringing *b, const char *path, struct err *e)
{
    return materialise_gone(b->tree_fd, path, e) || list_path(b, path, e) ? -1 : 0;
}

/* An overlay that nobody has mounted lies on the workspace's head from now on: what is in its upper
 * layer must not hide that. */
static void uncover(int data_fd, const char *path)
{
    char dir[PATH_BYTES_MAX + 1];
    (void)snprintf(dir, sizeof dir, "%s", path);
    char *slash = strrchr(dir, '/');
    const char *name = slash ? path + (slash - dir) + 1 : path;
    if (slash)
        *slash = '\0';
    scoped(fd_closep) int at = below_open_dir(data_fd, slash ? dir : ".");
    if (at >= 0)
        (void)unlinkat(at, name, 0);
    for (; slash; slash = strrchr(dir, '/')) {
        scoped(fd_closep) int fd = below_open_dir(data_fd, dir);
        if (fd >= 0)
            (void)fremovexattr(fd, "user.overlay.opaque"); /* mostly there is none */
        char *up = strrchr(dir, '/');
        if (!up)
            break;
        *up = '\0';
    }
}

static int apply(struct bringing *b, struct err *e)
{
    struct graft_result result;
    int data_fd = working_data(b->d->working)->dir_fd;
    if (!desk_has_kernel(b->session))
        return graft(b->tree_fd, data_fd, GRAFT_UNLINK, &result, e);
    return session_bring(b->session, b->tree_fd, &result, e);
}

/* What could not be put there (something is in the way) counts as what it was before: neither is it the
 * session that deleted it, nor is it forgotten. */
static int check_arrival(struct bringing *b, size_t index, struct err *e)
{
    const char *path = b->paths[index];
    struct stat st;
    if (fstatat(b->tree_fd, path, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
        return 0;
    scoped(fd_closep) int fd = below_open(working_data(b->d->working)->dir_fd, path, O_PATH);
    if (fd >= 0)
        return 0;
    b->has_failed[index] = true;
    return desk_set_own(b->d, path, desk_since(b->d, path), /* aside= */ NULL, e);
}

int bringing_apply(struct bringing *b, struct err *e)
{
    if (b->count == 0)
        return 0;
    b->has_failed = calloc(b->count, sizeof *b->has_failed);
    if (!b->has_failed)
        return err_set(e, ERR_NO_MEMORY, "bring files");
    if (apply(b, e))
        return err_wrap(e, "bring files");
    for (size_t i = 0; i < b->count; i++)
        if (working_known(b->d->working, b->paths[i], e) || check_arrival(b, i, e))
            return -1;
    return 0;
}

/* ---- what others changed ---- */

/* One round over all that changed since the copy's base; `each` sees those that are to be brought. */
struct round {
    struct bringing *b;
    bool is_all;
    bool is_offline; /* the layers are at head already: only uncover */
};

static bool is_wanted(const struct round *r, const struct file_row *f)
{
    const struct session_path *own = desk_own(r->b->d, f->path);
    if (f->kind == FILE_DIR)
        return false;
    if (!own)
        return f->rev > r->b->d->base;
    return (own->aside ? r->is_all : f->rev > own->rev);
}

static int bring_one(struct round *r, const struct file_row *f, struct err *e)
{
    struct bringing *b = r->b;
    struct desk *d = b->d;
    bool is_gone = f->state == FILE_TRASHED;
    bool is_new = f->version == 1;
    if (tell_brought(&d->pending, f->path,
                     is_gone  ? FILE_DELETED
                     : is_new ? FILE_CREATED
                              : FILE_MODIFIED,
                     e))
        return -1;
    if (r->is_offline) {
        uncover(working_data(d->working)->dir_fd, f->path);
        return list_path(b, f->path, e);
    }
    return is_gone ? bringing_remove(b, f->path, e)
                   : bringing_put(b, f->path, &f->content, f->changed_us, e);
}

static int bring_all(struct round *r, uint64_t since, struct err *e)
{
    struct meta *meta = r->b->d->service->o.meta;
    for (bool has_more = true; has_more;) {
        struct file_rows rows;
        int failed = 0;
        if (meta_file_changes(meta, r->b->d->workspace, since, PAGE, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count && !failed; i++) {
            since = rows.items[i].rev;
            if (is_wanted(r, &rows.items[i]))
                failed = bring_one(r, &rows.items[i], e);
        }
        has_more = rows.has_more;
        file_rows_done(&rows);
        if (failed)
            return -1;
    }
    return 0;
}

/* Where to begin: what is held back may have been changed long ago. */
static uint64_t beginning(const struct desk *d, bool is_all)
{
    for (size_t i = 0; i < d->own.count && is_all; i++)
        if (d->own.items[i].aside)
            return 0;
    return d->base;
}

static int settle(struct bringing *b, struct err *e)
{
    struct desk *d = b->d;
    if (meta_session_set_base(d->service->o.meta, d->session, b->ws->rev,
                              (const char *const *)b->paths, b->count, /* is_all= */ false, e))
        return -1;
    for (size_t i = 0; i < b->count; i++)
        if (!b->has_failed || !b->has_failed[i])
            desk_drop_own(d, b->paths[i]);
    d->base = b->ws->rev;
    return 0;
}

/* First of all, what the session wrote since its last run is kept: it must not be written over. */
int desk_catch_up(struct desk *d, struct session *session, const struct workspace_row *ws,
                  bool is_all, struct err *e)
{
    const struct author author = desk_author(d);
    if (desk_commit(d, &author, COMMIT_RUN, /* run= */ 0, NULL, e))
        return err_wrap(e, "keep what the session wrote");
    struct bringing b = {.d = d, .session = session, .ws = ws, .tree_fd = -1};
    struct round r = {
        .b = &b, .is_all = is_all, .is_offline = d->is_overlay && !desk_is_mounted(d, session)};
    int failed = bringing_begin(&b, e) || bring_all(&r, beginning(d, is_all), e) ||
                 (!r.is_offline && bringing_apply(&b, e)) || settle(&b, e);
    bringing_done(&b);
    return failed ? err_wrap(e, "bring what others changed") : 0;
}

/* ---- a new plain copy ---- */

int desk_fill(struct desk *d, const struct workspace_row *ws, struct err *e)
{
    uint64_t since = 0;
    scoped(fd_closep) int data_fd = openat(d->dir_fd, "data", OPEN_DIR);
    if (data_fd < 0)
        return err_sys(e, errno, "open the working copy");
    for (bool has_more = true; has_more;) {
        struct file_rows rows;
        int failed = 0;
        if (meta_file_changes(d->service->o.meta, d->workspace, since, PAGE, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count && !failed; i++) {
            const struct file_row *f = &rows.items[i];
            since = f->rev;
            if (f->state != FILE_LIVE)
                continue;
            if (f->kind == FILE_DIR) {
                char below[PATH_BYTES_MAX + 3]; /* the way to something in it is itself */
                scoped(fd_closep) int at = -1;
                const char *name;
                (void)snprintf(below, sizeof below, "%s/.", f->path);
                failed = materialise_way(data_fd, below, &at, &name, e);
            } else {
                failed = materialise(d->service->o.files, ws, &f->content, data_fd, f->path,
                                     f->changed_us, e);
            }
        }
        has_more = rows.has_more;
        file_rows_done(&rows);
        if (failed)
            return -1;
    }
    return 0;
}

/* ---- undoing ---- */

static int put_back(struct bringing *b, const struct undone *u, struct err *e)
{
    for (size_t i = u->count; i-- > 0;) {
        const struct undone_path *p = &u->paths[i];
        if (p->was_there ? bringing_put(b, p->path, &p->content, p->changed_us, e)
                         : bringing_remove(b, p->path, e))
            return -1;
    }
    return 0;
}

static int undo(struct desk *d, struct bringing *b, uint64_t run, struct err *e)
{
    if (bringing_begin(b, e) || put_back(b, &d->before, e))
        return -1;
    for (size_t i = d->undo_count; i-- > 0 && d->undo[i].run >= run;)
        if (put_back(b, &d->undo[i], e))
            return -1;
    return b->count > 0 && apply(b, e) ? -1 : 0;
}

int desk_undo(struct desk *d, struct session *session, uint64_t run, struct err *e)
{
    const struct author author = desk_author(d);
    struct workspace_row ws;
    if (files_workspace_known(d->service->o.files, d->workspace, &ws, e))
        return -1;
    pthread_mutex_lock(&d->lock);
    struct bringing b = {.d = d, .session = session, .ws = &ws, .tree_fd = -1};
    int failed = desk_commit(d, &author, COMMIT_RUN, 0, NULL, e) || undo(d, &b, run, e);
    bringing_done(&b);
    if (!failed) {
        while (d->undo_count > 0 && d->undo[d->undo_count - 1].run >= run)
            undone_done(&d->undo[--d->undo_count]);
        undone_done(&d->before);
        d->before = (struct undone){0};
        failed = desk_commit(d, &author, COMMIT_ROLLBACK, 0, NULL, e);
        undone_done(&d->before);
        d->before = (struct undone){0};
    }
    pthread_mutex_unlock(&d->lock);
    workspace_row_done(&ws);
    return failed ? err_wrap(e, "bring the files back") : 0;
}
