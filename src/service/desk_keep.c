/* desk_keep.c -- what a session changed becomes versions of its workspace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/filetype.h"
#include "base/hash.h"
#include "base/scope.h"
#include "service/desk_int.h"
#include "service/service_int.h"
#include "session/working.h"

enum { PIECE = 1 << 20 };

/* One look, and the commit it fills. */
struct keeping {
    struct desk *d;
    const struct author *author;
    enum commit_kind kind;
    struct workspace_row ws; /* once there is a commit */
    struct commit *commit;   /* NULL: nothing has changed so far */
    const char *refusal;     /* once there is a commit: why nothing may be kept; NULL: it may */
    bool is_putting;         /* a file is being read into the commit */
    bool *is_torn;           /* by index of the change */
    size_t torn_cap;
    struct capture found;
    char **left; /* paths that could not be kept */
    size_t left_count;
    char *piece; /* PIECE bytes */
};

/* Why a file was not kept; NULL: that is no matter of this file alone. */
static const char *refusal(enum err_code code)
{
    switch (code) {
    case ERR_QUOTA: return "the workspace's quota is used up";
    case ERR_NO_SPACE: return "the disk of the server is full";
    case ERR_TOO_LARGE: return "too large";
    case ERR_INVALID:
        return "its name cannot be kept: not UTF-8, or with control characters, or too long";
    case ERR_CONFLICT: return "a file and a directory of the same name are in the workspace";
    default: return NULL;
    }
}

/* It stays in the copy, and is tried again. */
static int leave_more(struct keeping *k, const char *path, const char *reason, const char *more,
                      struct err *e)
{
    char **grown = realloc(k->left, (k->left_count + 1) * sizeof(char *));
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "keep the files");
    k->left = grown;
    k->left[k->left_count] = strdup(path);
    if (!k->left[k->left_count++])
        return err_set(e, ERR_NO_MEMORY, "keep the files");
    return more ? capture_miss_more(&k->found, path, reason, more, e)
                : capture_miss(&k->found, path, reason, e);
}

static int leave(struct keeping *k, const char *path, const char *reason, struct err *e)
{
    return leave_more(k, path, reason, /* more= */ NULL, e);
}

static int refuse(struct keeping *k, const char *path, struct err *e)
{
    const char *reason = refusal(e->code);
    if (!reason)
        return -1;
    *e = (struct err){0};
    return leave(k, path, reason, e);
}

static int need_commit(struct keeping *k, struct err *e)
{
    if (k->commit)
        return 0;
    if (!k->piece && !(k->piece = malloc(PIECE)))
        return err_set(e, ERR_NO_MEMORY, "keep the files");
    if (files_workspace_known(k->d->service->o.files, k->d->workspace, &k->ws, e) ||
        pen_check(k->d->service, &k->d->pen, &k->ws, &k->refusal, e))
        return -1;
    if (commit_new(k->d->service->o.files, &k->ws, k->author, k->kind, &k->commit, e))
        return -1;
    commit_is_working_copy(k->commit);
    return 0;
}

static struct how how_of(const struct keeping *k, const char *path)
{
    return (struct how){.expect = EXPECT_SINCE,
                        .since = desk_since(k->d, path),
                        .mark = k->d->mark,
                        .is_lenient = true};
}

/* Whether something of the session is kept beside what others wrote: then this very commit may write to
 * another path than the one that changed. */
static bool has_aside(const struct desk *d)
{
    for (size_t i = 0; i < d->own.count; i++)
        if (d->own.items[i].aside)
            return true;
    return false;
}

/* Whether the file is just what the copy began with: asked when nothing is known of the copy, and where
 * others have committed. A look may tell a file again that did not change, where times are coarse. */
static int is_unchanged(struct keeping *k, const char *path, int fd, uint64_t size, bool *ret,
                        struct err *e)
{
    struct content base;
    int64_t changed_us;
    uint64_t len;
    uint8_t sha256[HASH_LEN];
    *ret = false;
    /* Where nobody else has committed since, the same bytes make no version anyway. */
    if (k->d->is_known && k->ws.rev <= k->d->base && !k->refusal && !has_aside(k->d))
        return 0;
    if (hash_fd(fd, size, sha256, &len, e) || lseek(fd, 0, SEEK_SET) < 0) {
        *e = (struct err){0}; /* it changes: not the same, then */
        return lseek(fd, 0, SEEK_SET) < 0 ? err_sys(e, errno, "read a file") : 0;
    }
    bool has_base = desk_base_of(k->d, path, &base, &changed_us) && base.size == len;
    *ret = (has_base && memcmp(sha256, base.sha256, HASH_LEN) == 0) ||
           desk_was_bringing(k->d, path, len, sha256);
    return 0;
}

/* ---- what the look finds ---- */

static int pour(struct keeping *k, int fd, struct err *e)
{
    for (;;) {
        ssize_t len = read(fd, k->piece, PIECE);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return err_sys(e, errno, "read a file");
        if (len == 0)
            return 0;
        if (commit_write(k->commit, k->piece, (size_t)len, e))
            return -1;
    }
}

static void drop(struct keeping *k)
{
    if (k->is_putting)
        commit_drop(k->commit);
    k->is_putting = false;
}

static int on_changed(void *arg, const char *path, int fd, uint64_t size, bool is_executable,
                      struct err *e)
{
    struct keeping *k = arg;
    bool is_same;
    (void)is_executable;
    drop(k); /* it is given again because it changed meanwhile */
    if (need_commit(k, e))
        return -1;
    if (is_unchanged(k, path, fd, size, &is_same, e) || is_same)
        return is_same ? 0 : -1;
    if (k->refusal)
        return leave(k, path, k->refusal, e);
    const struct how how = how_of(k, path);
    if (commit_put(k->commit, path, &how, size, e))
        return refuse(k, path, e);
    k->is_putting = true;
    if (pour(k, fd, e) == 0)
        return 0;
    drop(k);
    return refuse(k, path, e);
}

static int note_torn(struct keeping *k, size_t index, bool is_torn, struct err *e)
{
    if (index >= k->torn_cap) {
        size_t cap = 2 * index + 64;
        bool *grown = realloc(k->is_torn, cap * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "keep the files");
        memset(grown + k->torn_cap, 0, (cap - k->torn_cap) * sizeof *grown);
        k->is_torn = grown;
        k->torn_cap = cap;
    }
    k->is_torn[index] = is_torn;
    return 0;
}

static int on_settled(void *arg, const char *path, bool is_torn, struct err *e)
{
    struct keeping *k = arg;
    if (!k->is_putting)
        return 0;
    k->is_putting = false;
    if (commit_end(k->commit, e)) {
        commit_drop(k->commit); /* it is still begun, and the next file comes */
        return refuse(k, path, e);
    }
    return note_torn(k, commit_count(k->commit) - 1, is_torn, e) || desk_remember(k->d, path, e)
               ? -1
               : 0;
}

static int on_deleted(void *arg, const char *path, struct err *e)
{
    struct keeping *k = arg;
    const struct how how = how_of(k, path);
    drop(k);
    if (need_commit(k, e))
        return -1;
    if (k->refusal)
        return desk_note_gone(k->d, path, e) || leave(k, path, k->refusal, e) ? -1 : 0;
    if (commit_delete(k->commit, path, &how, e))
        return refuse(k, path, e);
    return note_torn(k, commit_count(k->commit) - 1, false, e) || desk_remember(k->d, path, e) ? -1
                                                                                               : 0;
}

/* A plain copy of which nothing is known: what the session had deleted shows only by its absence. */
bool desk_is_there(const struct desk *d, const char *path)
{
    struct stat st;
    scoped(fd_closep) int fd = below_open(working_data(d->working)->dir_fd, path, O_PATH);
    if (fd < 0)
        return fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP; /* a closed directory may have it */
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int find_missing(struct keeping *k, struct err *e)
{
    char *after = NULL;
    int failed = 0;
    do {
        struct file_rows rows;
        const struct file_query query = {.prefix = "", .after = after, .limit = PAGE_MAX};
        char *next = NULL;
        if (meta_file_list(k->d->service->o.meta, k->d->workspace, &query, &rows, &next, e)) {
            free(after);
            return -1;
        }
        for (size_t i = 0; i < rows.count && !failed; i++) {
            const struct file_row *f = &rows.items[i];
            bool is_ours = f->kind == FILE_REGULAR && f->rev <= desk_since(k->d, f->path);
            if (is_ours && !desk_is_there(k->d, f->path))
                failed = on_deleted(k, f->path, e);
        }
        file_rows_done(&rows);
        free(after);
        after = next;
    } while (after && !failed);
    free(after);
    return failed;
}

/* Deletions that could not be kept before. When nothing is known of the copy they are found anyway. */
static int tell_gone(struct keeping *k, struct err *e)
{
    size_t count;
    char **gone = desk_take_gone(k->d, &count);
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (!failed && k->d->is_known && !desk_is_there(k->d, gone[i]))
            failed = on_deleted(k, gone[i], e);
        free(gone[i]);
    }
    free(gone);
    return failed;
}

/* ---- what became of it ---- */

static enum capture_change change_of(enum change made)
{
    return made == CHANGE_DELETED                              ? FILE_DELETED
           : made == CHANGE_CREATED || made == CHANGE_RESTORED ? FILE_CREATED
                                                               : FILE_MODIFIED;
}

static int tell_change(struct keeping *k, size_t index, struct err *e)
{
    const struct file_change *c = commit_change(k->commit, index);
    struct desk *d = k->d;
    struct captured_file f = {.path = (char *)(uintptr_t)c->path,
                              .size = c->content.size,
                              .change = change_of(c->made),
                              .has_sha256 = c->op == OP_PUT,
                              .mime = filetype_of(c->path),
                              .version = c->ret_version,
                              .is_torn = k->is_torn[index]};
    memcpy(f.sha256, c->content.sha256, sizeof f.sha256);
    switch (c->outcome) {
    case OUTCOME_SAME: return desk_set_own(d, c->path, commit_rev(k->commit), NULL, e);
    case OUTCOME_DONE:
        return desk_set_own(d, c->path, commit_rev(k->commit), NULL, e) ||
                       tell_file(&k->found, &f, e)
                   ? -1
                   : 0;
    case OUTCOME_ASIDE:
        f.aside = c->ret_path;
        f.why = c->ret_why;
        return desk_set_own(d, c->path, commit_rev(k->commit), c->ret_path, e) ||
                       tell_file(&k->found, &f, e)
                   ? -1
                   : 0;
    case OUTCOME_KEPT: /* what the copy has, or had, of it is as old as before */
        return c->ret_why
                   ? capture_miss_more(&k->found, c->path, "not deleted: ", c->ret_why, e)
                   : capture_miss(&k->found, c->path, "not deleted: others have changed it", e);
    case OUTCOME_QUOTA: return leave(k, c->path, refusal(ERR_QUOTA), e);
    case OUTCOME_LOCKED: return leave_more(k, c->path, "the workspace is ", c->ret_why, e);
    }
    return 0;
}

/* Whether the copy shows the workspace as the commit left it: nobody else has committed in between, and
 * nothing went to a path that the copy does not have, or has of an older version. */
static bool is_shown(const struct keeping *k)
{
    for (size_t i = 0; i < commit_count(k->commit); i++)
        if (commit_change(k->commit, i)->outcome == OUTCOME_ASIDE)
            return false;
    return commit_rev(k->commit) == k->d->base + 1;
}

static int finish(struct keeping *k, struct err *e)
{
    if (!k->commit || commit_count(k->commit) == 0)
        return 0;
    if (k->kind != COMMIT_ROLLBACK)
        desk_save_before(k->d);
    if (commit_finish(k->commit, e))
        return -1;
    if (is_shown(k)) /* otherwise the rest is brought before the next run */
        k->d->base = commit_rev(k->commit);
    for (size_t i = 0; i < commit_count(k->commit); i++)
        if (tell_change(k, i, e))
            return -1;
    return 0;
}

static int look(struct keeping *k, struct err *e)
{
    struct desk *d = k->d;
    const struct working_sink sink = {
        .changed = on_changed, .settled = on_settled, .deleted = on_deleted, .arg = k};
    if (tell_gone(k, e) || (!d->is_known && !d->is_overlay && find_missing(k, e)) ||
        working_look(d->working, &sink, &k->found, e) || finish(k, e))
        return -1;
    d->is_known = true;
    for (size_t i = 0; i < k->left_count; i++)
        working_forget(d->working, k->left[i]);
    desk_set_unsaved(d, k->left, k->left_count);
    k->left = NULL;
    k->left_count = 0;
    return 0;
}

static void keeping_done(struct keeping *k)
{
    commit_free(k->commit);
    capture_done(&k->found);
    for (size_t i = 0; i < k->left_count; i++)
        free(k->left[i]);
    free(k->left);
    free(k->is_torn);
    free(k->piece);
    workspace_row_done(&k->ws);
}

/* What this look found joins what is to be told at the end of the run. */
static int hand_over(struct keeping *k, struct err *e)
{
    struct capture *all = &k->d->pending, *found = &k->found;
    if (tell_more(all, found, e))
        return -1;
    struct capture swapped = *all; /* what was missed is what is missing now */
    all->missed = found->missed;
    all->missed_count = found->missed_count;
    all->missed_more = found->missed_more;
    found->missed = swapped.missed;
    found->missed_count = swapped.missed_count;
    return 0;
}

/* A look that fails has seen what was not kept: it is forgotten that it did. */
static int keep_once(struct desk *d, const struct author *author, enum commit_kind kind,
                     struct err *e)
{
    struct keeping k = {.d = d, .author = author, .kind = kind};
    struct err ignored = {0};
    int failed = look(&k, e) || hand_over(&k, e);
    keeping_done(&k);
    if (failed)
        (void)desk_look_anew(d, &ignored);
    return failed;
}

int desk_commit(struct desk *d, const struct author *author, enum commit_kind kind, uint64_t run,
                struct capture *ret, struct err *e)
{
    int failed = keep_once(d, author, kind, e);
    if (failed && e->code == ERR_DENIED) { /* closed to its owner, which is us: open again by now */
        *e = (struct err){0};
        failed = keep_once(d, author, kind, e);
    }
    if (failed || desk_push_undo(d, run, e))
        return -1;
    if (ret) {
        *ret = d->pending;
        d->pending = (struct capture){0};
    }
    return 0;
}

int desk_keep(struct desk *d, const struct author *author, enum commit_kind kind, uint64_t run,
              struct capture *ret, struct err *e)
{
    pthread_mutex_lock(&d->lock);
    int failed = desk_commit(d, author, kind, run, ret, e);
    pthread_mutex_unlock(&d->lock);
    return failed;
}

int desk_glance(struct desk *d, const struct author *author, struct err *e)
{
    pthread_mutex_lock(&d->lock);
    int failed = d->working ? desk_commit(d, author, COMMIT_RUN, /* run= */ 0, NULL, e) : 0;
    pthread_mutex_unlock(&d->lock);
    return failed;
}
