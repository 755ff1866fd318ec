/* desk_bring.c -- what others changed comes into a working copy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/flush.h"
#include "base/graft.h"
#include "base/hash.h"
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

bool desk_was_bringing(const struct desk *d, const char *path, uint64_t size,
                       const uint8_t sha256[HASH_LEN])
{
    struct stat st;
    struct err ignored = {0};
    uint8_t brought[HASH_LEN];
    uint64_t len;
    scoped(fd_closep) int tree_fd = openat(d->dir_fd, tree_name, OPEN_DIR);
    scoped(fd_closep) int fd = tree_fd < 0 ? -1 : below_open(tree_fd, path, O_RDONLY);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size &&
           hash_fd(fd, size, brought, &len, &ignored) == 0 && len == size &&
           memcmp(brought, sha256, HASH_LEN) == 0;
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

/* One tree cannot say both that a directory's files are gone and that a file is in its place, nor the
 * other way round: then what it says so far is applied first. */
static int make_room(struct bringing *b, const char *path, struct err *e)
{
    if (materialise_fits(b->tree_fd, path))
        return 0;
    if (b->is_undoing ? bringing_graft(b, e) : bringing_apply(b, e))
        return -1;
    fd_closep(&b->tree_fd);
    return bringing_begin(b, e);
}

int bringing_put(struct bringing *b, const char *path, const struct content *content,
                 int64_t changed_us, struct err *e)
{
    if (make_room(b, path, e))
        return -1;
    b->d->has_others = true;
    b->d->copied_bytes += content->size;
    return materialise(b->d->service->o.files, b->ws, content, b->tree_fd, path, changed_us, e) ||
                   list_path(b, path, e)
               ? -1
               : 0;
}

int bringing_remove(struct bringing *b, const char *path, struct err *e)
{
    if (make_room(b, path, e))
        return -1;
    return materialise_gone(b->tree_fd, path, e) || list_path(b, path, e) ? -1 : 0;
}

int bringing_graft(struct bringing *b, struct err *e)
{
    int data_fd = working_data(b->d->working)->dir_fd;
    if (!desk_has_kernel(b->session))
        return graft(b->tree_fd, data_fd, b->d->is_overlay ? GRAFT_WHITEOUT : GRAFT_UNLINK,
                     &b->result, e);
    return session_bring(b->session, b->tree_fd, &b->result, e);
}

static const char is_full[] = "the disk of the server is full",
                  is_in_the_way[] = "a file or directory of the session has that path",
                  is_unsaved[] = "the session's own change of it is not saved yet";

/* Why changes were left out, by the errno of the first. */
static const char *reason_of(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT: return is_full;
    case EBUSY:
        return "too much is being brought to sessions at this moment; the next run tries again";
    case ETIME: return "it took too long; it comes when the session has slept";
    case EACCES:
    case EPERM: return "the session has closed the directory that it belongs in";
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case ENOTEMPTY:
    case ELOOP: return is_in_the_way;
    default: return "it could not be written to the session's files";
    }
}

/* What could not be put there counts as what it was before: neither is it the session that deleted it, nor
 * is it forgotten. It is named; where that may pass by itself, the next run tries again. */
static int hold(struct bringing *b, const char *path, const char *reason, struct err *e)
{
    struct desk *d = b->d;
    const struct session_path *own = desk_own(d, path);
    uint64_t since = own ? own->rev : b->shown;
    untell_brought(&d->pending, path);
    b->is_behind =
        b->is_behind || reason == is_full || reason == is_unsaved || reason == reason_of(EBUSY);
    return capture_unbrought(&d->pending, path, reason, e) ||
                   meta_session_hold(d->service->o.meta, d->session, path, since, e) ||
                   desk_set_own(d, path, since, /* aside= */ NULL, e)
               ? -1
               : 0;
}

/* Whether what the tree says of the path is so. Files arrive with the time they have in the tree. */
static bool has_arrived(const struct bringing *b, const char *path)
{
    struct stat want, is;
    if (fstatat(b->tree_fd, path, &want, AT_SYMLINK_NOFOLLOW))
        return true; /* what is above it says all */
    scoped(fd_closep) int fd = below_open(working_data(b->d->working)->dir_fd, path, O_PATH);
    bool is_file = fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode);
    if (!S_ISREG(want.st_mode))
        return !is_file;
    return is_file && is.st_size == want.st_size && is.st_mtim.tv_sec == want.st_mtim.tv_sec &&
           is.st_mtim.tv_nsec == want.st_mtim.tv_nsec;
}

static int check_arrival(struct bringing *b, size_t index, struct err *e)
{
    const char *path = b->paths[index];
    b->has_failed[index] = !has_arrived(b, path);
    return b->has_failed[index] ? hold(b, path, reason_of(b->result.first_errno), e) : 0;
}

int bringing_apply(struct bringing *b, struct err *e)
{
    if (b->count == b->applied)
        return 0;
    bool *grown = realloc(b->has_failed, b->count * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "bring files");
    b->has_failed = grown;
    memset(grown + b->applied, 0, (b->count - b->applied) * sizeof *grown);
    if (bringing_graft(b, e)) {
        if (e->code != ERR_BUSY)
            return err_wrap(e, "bring files");
        *e = (struct err){0};
        b->result = (struct graft_result){.failed = 1, .first_errno = EBUSY};
    }
    for (; b->applied < b->count; b->applied++)
        if (check_arrival(b, b->applied, e) ||
            (!b->has_failed[b->applied] && working_known(b->d->working, b->paths[b->applied], e)))
            return -1; /* what is there instead may be the session's, and not be kept yet */
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
        return f->rev > r->b->shown;
    return (own->aside ? r->is_all : f->rev > own->rev);
}

/* Whether the file is still what the row says. */
static bool is_current(const struct desk *d, const struct file_row *f)
{
    struct file_row now;
    struct err why = {0};
    if (meta_file_get(d->service->o.meta, d->workspace, f->path, &now, &why))
        return why.code != ERR_NOT_FOUND;
    bool is_same = now.rev == f->rev;
    file_row_done(&now);
    return is_same;
}

/* There is no room for it now. */
static int hold_back(struct bringing *b, const struct file_row *f, struct err *e)
{
    b->behind_bytes += f->state == FILE_LIVE ? f->content.size : 0;
    return hold(b, f->path, is_full, e);
}

/* What the session wrote there is in its copy alone. What is kept beside goes on being kept there. */
static int hold_unsaved(struct bringing *b, const struct file_row *f, struct err *e)
{
    const struct session_path *own = desk_own(b->d, f->path);
    return own && own->aside ? capture_unbrought(&b->d->pending, f->path, is_unsaved, e)
                             : hold(b, f->path, is_unsaved, e);
}

static int bring_one(struct round *r, const struct file_row *f, struct err *e)
{
    struct bringing *b = r->b;
    struct desk *d = b->d;
    bool is_gone = f->state == FILE_TRASHED;
    bool is_new = f->version == 1;
    if (desk_is_unsaved(d, f->path))
        return hold_unsaved(b, f, e);
    desk_forget_gone(d, f->path);
    if (tell_brought(&d->pending, f->path,
                     is_gone  ? FILE_DELETED
                     : is_new ? FILE_CREATED
                              : FILE_MODIFIED,
                     e))
        return -1;
    if (r->is_offline && f->rev > d->checkout.rev)
        return hold_back(b, f, e);
    if (r->is_offline)
        return desk_uncover(d, f->path, is_gone) ? list_path(b, f->path, e)
                                                 : hold(b, f->path, is_in_the_way, e);
    if (is_gone)
        return bringing_remove(b, f->path, e);
    /* In the tree, and from there in the copy. */
    struct err full = {0};
    bool has_room =
        files_check_room(d->service->o.files, ROOM_FOR_COPIES, 2 * f->content.size, 2, &full) == 0;
    int failed = has_room ? bringing_put(b, f->path, &f->content, f->changed_us, e) : 0;
    if (!has_room || (failed && e->code == ERR_NO_SPACE)) {
        *e = (struct err){0};
        return hold_back(b, f, e);
    }
    if (!failed || e->code != ERR_NOT_FOUND || is_current(d, f))
        return failed;
    *e = (struct err){0}; /* purged meanwhile; what became of the file comes next time */
    return 0;
}

/* Files that the session made since its copy was last brought to head are in no list of what others moved
 * or deleted since then. */
static int bring_gone(struct round *r, struct err *e)
{
    const struct desk *d = r->b->d;
    for (size_t i = 0; i < d->own.count; i++) {
        const struct session_path *own = &d->own.items[i];
        struct file_row f;
        struct err why = {0};
        if (own->aside || own->rev <= d->base)
            continue;
        if (meta_file_get(d->service->o.meta, d->workspace, own->path, &f, &why) == 0) {
            file_row_done(&f);
            continue;
        }
        f = (struct file_row){.path = own->path, .state = FILE_TRASHED, .rev = r->b->ws->rev};
        if (why.code != ERR_NOT_FOUND || bring_one(r, &f, e))
            return why.code != ERR_NOT_FOUND ? err_set(e, why.code, "%.200s", why.text) : -1;
    }
    return 0;
}

/* What was held because it could not be brought is in no list of what changed since then. */
static int bring_held(struct round *r, struct err *e)
{
    const struct desk *d = r->b->d;
    for (size_t i = 0; i < d->own.count; i++) {
        const struct session_path *own = &d->own.items[i];
        struct file_row f;
        struct err why = {0};
        int failed = 0;
        if (own->aside || own->rev > d->base)
            continue;
        if (meta_file_get(d->service->o.meta, d->workspace, own->path, &f, &why) == 0) {
            bool is_held = f.kind == FILE_REGULAR && f.rev > own->rev && f.rev <= d->base;
            failed = is_held ? bring_one(r, &f, e) : 0;
            file_row_done(&f);
        } else if (why.code == ERR_NOT_FOUND && desk_is_there(d, own->path)) {
            f = (struct file_row){.path = own->path, .state = FILE_TRASHED, .rev = own->rev};
            failed = bring_one(r, &f, e);
        }
        if (failed)
            return -1;
    }
    return 0;
}

static int bring_all(struct round *r, uint64_t since, struct err *e)
{
    struct meta *meta = r->b->d->service->o.meta;
    uint64_t after = since;
    if (bring_gone(r, e) || (r->b->d->is_behind && bring_held(r, e)))
        return -1;
    for (bool has_more = true; has_more;) {
        struct file_rows rows;
        int failed = 0;
        if (meta_file_changes_after(meta, r->b->d->workspace, since, after, PAGE, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count && !failed; i++) {
            after = rows.items[i].rev;
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

/* Where to begin: what is held back, or could not be brought, may have been changed long ago. */
static uint64_t beginning(const struct desk *d, uint64_t shown, bool is_all)
{
    uint64_t first = shown;
    for (size_t i = 0; i < d->own.count && is_all; i++) {
        const struct session_path *own = &d->own.items[i];
        if (own->aside)
            return 0;
        first = own->rev < first ? own->rev : first;
    }
    return first;
}

static int settle(struct bringing *b, struct err *e)
{
    struct desk *d = b->d;
    scoped(freep) const char **arrived = calloc(b->count + 1, sizeof *arrived);
    size_t count = 0;
    if (!arrived)
        return err_set(e, ERR_NO_MEMORY, "bring files");
    for (size_t i = 0; i < b->count; i++)
        if (!b->has_failed || !b->has_failed[i])
            arrived[count++] = b->paths[i];
    if (meta_session_set_base(d->service->o.meta, d->session, b->ws->rev, arrived, count,
                              /* is_all= */ false, e))
        return -1;
    for (size_t i = 0; i < count; i++)
        desk_drop_own(d, arrived[i]);
    d->base = b->ws->rev;
    d->is_behind = b->is_behind;
    d->behind_bytes = b->behind_bytes;
    return 0;
}

/* What was uncovered is in the upper layer no more; what is left of it was kept before. */
static int know_anew(struct desk *d, struct err *e)
{
    return d->has_unsaved ? desk_look_anew(d, e) : working_all_known(d->working, e);
}

/* First of all, what the session wrote since its last run is kept: it must not be written over. */
int desk_catch_up(struct desk *d, struct session *session, const struct workspace_row *ws,
                  bool is_all, struct err *e)
{
    const struct author author = desk_author(d);
    if (desk_commit(d, &author, COMMIT_RUN, /* run= */ 0, NULL, e))
        return err_wrap(e, "keep what the session wrote");
    struct bringing b = {.d = d, .session = session, .ws = ws, .tree_fd = -1, .shown = d->base};
    struct round r = {
        .b = &b, .is_all = is_all, .is_offline = d->is_overlay && !desk_is_mounted(d, session)};
    if (r.is_offline && d->checkout.rev < b.shown)
        b.shown = d->checkout.rev;
    int failed = bringing_begin(&b, e) || bring_all(&r, beginning(d, b.shown, is_all), e) ||
                 (r.is_offline ? know_anew(d, e) : bringing_apply(&b, e)) || settle(&b, e);
    bringing_done(&b);
    return failed ? err_wrap(e, "bring what others changed") : 0;
}

/* ---- a plain copy ---- */

static int fill_one(struct desk *d, const struct workspace_row *ws, int data_fd,
                    const struct file_row *f, struct err *e)
{
    struct stat st;
    char path[PATH_BYTES_MAX + 3];
    /* The way to something in a directory is the directory itself. */
    (void)snprintf(path, sizeof path, f->kind == FILE_DIR ? "%s/." : "%s", f->path);
    if (f->state != FILE_LIVE || !materialise_fits(data_fd, path) ||
        fstatat(data_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    if (f->kind != FILE_DIR)
        return materialise(d->service->o.files, ws, &f->content, data_fd, path, f->changed_us, e);
    scoped(fd_closep) int at = -1;
    const char *name;
    return materialise_way(data_fd, path, &at, &name, e);
}

int desk_fill(struct desk *d, const struct workspace_row *ws, struct err *e)
{
    uint64_t after = 0;
    d->has_others = true;
    scoped(fd_closep) int data_fd = openat(d->dir_fd, "data", OPEN_DIR);
    if (data_fd < 0)
        return err_sys(e, errno, "open the working copy");
    for (bool has_more = true; has_more;) {
        struct file_rows rows;
        int failed = 0;
        if (meta_file_changes_after(d->service->o.meta, d->workspace, /* since= */ 0, after, PAGE,
                                    &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count && !failed; i++) {
            after = rows.items[i].rev;
            failed = fill_one(d, ws, data_fd, &rows.items[i], e);
        }
        has_more = rows.has_more;
        file_rows_done(&rows);
        if (failed)
            return -1;
    }
    return flush_tree(data_fd, e);
}
