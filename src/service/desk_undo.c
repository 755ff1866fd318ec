/* desk_undo.c -- what runs changed, as it was before; going back to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/desk_int.h"
#include "service/service_int.h"
#include "store/meta_files.h"

void undone_done(struct undone *u)
{
    for (size_t i = 0; i < u->count; i++)
        free(u->paths[i].path);
    free(u->paths);
}

/* ---- remembering ---- */

bool desk_base_of(const struct desk *d, const char *path, struct content *ret,
                  int64_t *ret_changed_us)
{
    struct version_row v;
    struct err ignored = {0};
    const struct session_path *own = desk_own(d, path);
    const char *at = own && own->aside ? own->aside : path;
    if (meta_version_at(d->service->o.meta, d->workspace, at, own ? own->rev : d->base, &v,
                        &ignored))
        return false;
    *ret = v.content;
    *ret_changed_us = v.created_us;
    version_row_done(&v);
    return true;
}

int desk_remember(struct desk *d, const char *path, struct err *e)
{
    struct undone *u = &d->before;
    if (d->undo_max == 0)
        return 0;
    if (u->count % 64 == 0) {
        struct undone_path *grown = realloc(u->paths, (u->count + 64) * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "keep the files");
        u->paths = grown;
    }
    struct undone_path *p = &u->paths[u->count];
    *p = (struct undone_path){.path = strdup(path)};
    if (!p->path)
        return err_set(e, ERR_NO_MEMORY, "keep the files");
    const struct session_path *own = desk_own(d, path);
    p->was_there = desk_base_of(d, path, &p->content, &p->changed_us);
    p->rev = !own ? d->base : own->aside ? 0 : own->rev;
    u->count++;
    return 0;
}

int desk_push_undo(struct desk *d, uint64_t run, struct err *e)
{
    if (d->undo_max == 0 || run == 0)
        return 0;
    if (!d->undo && !(d->undo = calloc(d->undo_max + 2, sizeof *d->undo)))
        return err_set(e, ERR_NO_MEMORY, "keep the files");
    desk_number_before(d, run);
    d->undo[d->undo_count++] = d->before;
    d->before = (struct undone){0};
    if (d->undo_count > d->undo_max) {
        desk_drop_undone(d, &d->undo[0]);
        memmove(d->undo, d->undo + 1, --d->undo_count * sizeof *d->undo);
    }
    return 0;
}

/* ---- going back ---- */

/* Whether the workspace has forgotten for good what the path was; until it is collected, the content may still
 * be there. */
static bool is_purged(const struct desk *d, const struct undone_path *p)
{
    struct version_row v;
    struct err why = {0};
    if (p->rev == 0)
        return false;
    if (meta_version_at(d->service->o.meta, d->workspace, p->path, p->rev, &v, &why))
        return why.code == ERR_NOT_FOUND;
    bool is_same = memcmp(v.content.sha256, p->content.sha256, HASH_LEN) == 0;
    version_row_done(&v);
    return !is_same;
}

/* It stays as it is now, and the next run names it. In the tree it may be as a later run changed it. */
static int leave_out(struct bringing *b, const struct undone_path *p, const char *reason,
                     struct err *e)
{
    (void)unlinkat(b->tree_fd, p->path, 0); /* mostly it is not there */
    log_line(b->d->service->o.log, LOG_WARNING, "a file is not rolled back",
             LOG_STR("session", b->d->session), LOG_STR("path", p->path), LOG_STR("why", reason));
    return capture_unbrought(&b->d->pending, p->path, reason, e);
}

static int put_back_one(struct bringing *b, const struct undone_path *p, struct err *e)
{
    struct err why = {0};
    if (!p->was_there)
        return bringing_remove(b, p->path, e);
    if (is_purged(b->d, p))
        return leave_out(b, p, "what it was before was purged", e);
    if (bringing_put(b, p->path, &p->content, p->changed_us, &why) == 0)
        return 0;
    if (why.code == ERR_NOT_FOUND || why.code == ERR_DAMAGED)
        return leave_out(b, p, "what it was before cannot be read any more", e);
    if (why.code == ERR_NO_SPACE)
        return leave_out(b, p, "the disk of the server has no room for what it was before", e);
    *e = why;
    return -1;
}

static int put_back(struct bringing *b, const struct undone *u, struct err *e)
{
    for (size_t i = u->count; i-- > 0;)
        if (put_back_one(b, &u->paths[i], e))
            return -1;
    return 0;
}

static int undo(struct desk *d, struct bringing *b, uint64_t run, struct err *e)
{
    if (bringing_begin(b, e) || put_back(b, &d->before, e))
        return -1;
    for (size_t i = d->undo_count; i-- > 0 && d->undo[i].run >= run;)
        if (put_back(b, &d->undo[i], e))
            return -1;
    if (b->count == 0)
        return 0;
    if (bringing_graft(b, e))
        return -1;
    int why = b->result.first_errno;
    return why == ETIME || why == ECHILD ? err_sys(e, why, "put files back") : 0;
}

/* ---- room for that ---- */

static int compare_paths(const void *a, const void *b)
{
    const struct undone_path *const *x = a, *const *y = b;
    return strcmp((*x)->path, (*y)->path);
}

static void add_paths(const struct undone *u, const struct undone_path **to, size_t *count)
{
    for (size_t i = 0; i < u->count; i++)
        if (u->paths[i].was_there)
            to[(*count)++] = &u->paths[i];
}

/* What is put back, every path once, as large as it ever was. */
static int sum_undone(const struct desk *d, size_t first, uint64_t *ret_bytes, uint64_t *ret_files,
                      struct err *e)
{
    size_t count = d->before.count, added = 0;
    for (size_t i = first; i < d->undo_count; i++)
        count += d->undo[i].count;
    scoped(freep) const struct undone_path **paths = calloc(count + 1, sizeof(void *));
    if (!paths)
        return err_set(e, ERR_NO_MEMORY, "put files back");
    add_paths(&d->before, paths, &added);
    for (size_t i = first; i < d->undo_count; i++)
        add_paths(&d->undo[i], paths, &added);
    qsort(paths, added, sizeof *paths, compare_paths);
    for (size_t i = 0; i < added; *ret_files += 1) {
        uint64_t largest = 0;
        for (const char *path = paths[i]->path; i < added && strcmp(paths[i]->path, path) == 0; i++)
            largest = paths[i]->content.size > largest ? paths[i]->content.size : largest;
        *ret_bytes += largest;
    }
    return 0;
}

int desk_check_undo(struct desk *d, uint64_t run, struct err *e)
{
    uint64_t bytes = 0, files = 0;
    pthread_mutex_lock(&d->lock);
    size_t first = d->undo_count;
    while (first > 0 && d->undo[first - 1].run >= run)
        first--;
    int failed = sum_undone(d, first, &bytes, &files, e);
    pthread_mutex_unlock(&d->lock);
    if (failed || files == 0)
        return failed;
    /* In the tree, and from there in the copy. */
    return files_check_room(d->service->o.files, ROOM_FOR_COPIES, 2 * bytes, 2 * files, e);
}

int desk_undo(struct desk *d, struct session *session, uint64_t run, struct err *e)
{
    struct workspace_row ws;
    if (files_workspace_known(d->service->o.files, d->workspace, &ws, e))
        return -1;
    pthread_mutex_lock(&d->lock);
    const struct author author = desk_author(d);
    struct bringing b = {.d = d, .session = session, .ws = &ws, .tree_fd = -1, .is_undoing = true};
    int failed = desk_commit(d, &author, COMMIT_RUN, 0, NULL, e) || undo(d, &b, run, e);
    bringing_done(&b);
    if (!failed) {
        while (d->undo_count > 0 && d->undo[d->undo_count - 1].run >= run)
            desk_drop_undone(d, &d->undo[--d->undo_count]);
        desk_drop_before(d);
        failed = desk_commit(d, &author, COMMIT_ROLLBACK, 0, NULL, e);
        desk_drop_before(d);
    }
    pthread_mutex_unlock(&d->lock);
    workspace_row_done(&ws);
    return failed ? err_wrap(e, "bring the files back") : 0;
}
