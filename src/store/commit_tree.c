/* Deleting, moving and copying, of files and of directories with everything below; making directories.
 *
 * A directory is there when something lies below it, or when it was made (then it has a row). */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/commit_int.h"

static int not_found(const char *path, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is nothing at %.100s", path);
}

/* What is at `path`: a file (count 0, in *ret_file), a directory (all its rows, possibly only
 * below it), or nothing: 1, 2, 0, -1. */
enum { IS_NOTHING = 0, IS_FILE = 1, IS_DIR = 2 };

static int look(struct work *w, const char *path, struct entry *ret_file, struct numbers *ret_tree,
                struct err *e)
{
    int got = entry_live(w, path, ret_file, e);
    if (got < 0)
        return -1;
    if (got == 1 && ret_file->kind == FILE_REGULAR)
        return IS_FILE;
    if (list_tree(w, path, ret_tree, e))
        return -1;
    return ret_tree->count > 0 ? IS_DIR : IS_NOTHING;
}

/* ---- delete ---- */

/* Whether others changed anything in the directory since: 1, 0, -1. */
static int tree_differs(struct work *w, const struct file_change *c, const struct numbers *tree,
                        struct err *e)
{
    struct entry f;
    if (c->expect == EXPECT_ANY)
        return 0;
    if (c->expect != EXPECT_SINCE)
        return check_expected(w, c, c->path, /* found= */ NULL, e);
    for (size_t i = 0; i < tree->count; i++) {
        if (entry_by_number(w, tree->items[i], &f, e) != 1)
            return -1;
        if (f.rev > c->since)
            return 1;
    }
    return 0;
}

/* It stays: others changed it, or hold a lock, `by`. */
static int keep(struct work *w, struct file_change *c, const struct entry *f, const struct held *by,
                struct err *e)
{
    if (!c->mark)
        return err_set(e, ERR_PRECONDITION, "%.100s was changed by somebody else meanwhile",
                       c->path);
    report(w, c, f, OUTCOME_KEPT, 0);
    if (by && locks_gave_way(w, c, by, e))
        return -1;
    return note_path(w, c->path, c->since, /* aside= */ NULL, e);
}

static int delete_tree(struct work *w, struct file_change *c, const struct numbers *tree,
                       struct err *e)
{
    struct entry f;
    const struct held *by;
    int differs = tree_differs(w, c, tree, e);
    if (differs < 0 || locks_on(w, c->path, /* is_dir= */ false, &by, e))
        return -1;
    if (differs || by)
        return keep(w, c, /* f= */ NULL, by, e);
    for (size_t i = 0; i < tree->count; i++)
        if (entry_by_number(w, tree->items[i], &f, e) != 1 || entry_trash(w, &f, e) ||
            note_path(w, f.path, w->rev, /* aside= */ NULL, e))
            return -1;
    report(w, c, /* f= */ NULL, OUTCOME_DONE, CHANGE_DELETED);
    return note_path(w, c->path, w->rev, /* aside= */ NULL, e);
}

int op_delete(struct work *w, struct file_change *c, struct err *e)
{
    scoped(numbers_done) struct numbers tree = {0};
    struct entry f;
    int what = look(w, c->path, &f, &tree, e);
    if (what < 0)
        return -1;
    if (what == IS_DIR)
        return delete_tree(w, c, &tree, e);
    if (what == IS_NOTHING && c->expect == EXPECT_SINCE) { /* as it was to be */
        report(w, c, /* f= */ NULL, OUTCOME_SAME, 0);
        return note_path(w, c->path, rev_now(w), /* aside= */ NULL, e);
    }
    int differs = check_expected(w, c, c->path, what == IS_FILE ? &f : NULL, e);
    if (differs < 0)
        return -1;
    if (what == IS_NOTHING)
        return not_found(c->path, e);
    const struct held *by;
    if (locks_on(w, c->path, /* is_dir= */ false, &by, e))
        return -1;
    if (differs || by)
        return keep(w, c, &f, by, e);
    if (entry_trash(w, &f, e))
        return -1;
    report(w, c, &f, OUTCOME_DONE, CHANGE_DELETED);
    return note_path(w, c->path, w->rev, /* aside= */ NULL, e);
}

/* ---- move and copy ---- */

static bool is_within(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* What is to become of `to`, which a file may be at: to the trash when that is allowed. A directory
 * is always in the way. *ret_has: there is one in *ret. */
static int check_target(struct work *w, const struct file_change *c, const char *to,
                        struct entry *ret, bool *ret_has, struct err *e)
{
    int got = entry_live(w, to, ret, e);
    if (got < 0)
        return -1;
    *ret_has = got == 1;
    if (!got)
        return check_way(w, to, e);
    if (ret->kind == FILE_DIR)
        return err_set(e, ERR_CONFLICT, "%.100s is a directory", to);
    if (!c->is_overwriting)
        return err_set(e, ERR_CONFLICT,
                       "there is a file at %.100s: delete it first, or ask to overwrite it", to);
    return 0;
}

static int other_path(const char *path, const char *from, const char *to,
                      char ret[PATH_BYTES_MAX + 1], struct err *e)
{
    int len = snprintf(ret, PATH_BYTES_MAX + 1, "%s%s", to, path + strlen(from));
    return len <= PATH_BYTES_MAX
               ? 0
               : err_set(e, ERR_INVALID, "the path of %.100s would be too long there", path);
}

static int check_source(struct work *w, const struct file_change *c, const struct entry *f,
                        struct err *e)
{
    int differs = check_expected(w, c, c->path, f, e);
    if (differs > 0)
        return err_set(e, ERR_PRECONDITION, "%.100s was changed by somebody else meanwhile",
                       c->path);
    return differs;
}

static int move_one(struct work *w, struct file_change *c, struct entry *f, struct err *e)
{
    struct entry there;
    bool has;
    if (check_target(w, c, c->to, &there, &has, e) || (has && entry_trash(w, &there, e)) ||
        entry_move(w, f, c->to, e))
        return -1;
    report(w, c, f, OUTCOME_DONE, CHANGE_MOVED);
    return 0;
}

static int move_tree(struct work *w, struct file_change *c, const struct numbers *tree,
                     struct err *e)
{
    struct entry f;
    char path[PATH_BYTES_MAX + 1];
    bool has;
    if (check_target(w, c, c->to, &f, &has, e) || (has && entry_trash(w, &f, e)))
        return -1;
    for (size_t i = 0; i < tree->count; i++)
        if (entry_by_number(w, tree->items[i], &f, e) != 1 ||
            other_path(f.path, c->path, c->to, path, e) || entry_move(w, &f, path, e))
            return -1;
    report(w, c, /* f= */ NULL, OUTCOME_DONE, CHANGE_MOVED);
    return 0;
}

int op_move(struct work *w, struct file_change *c, struct err *e)
{
    scoped(numbers_done) struct numbers tree = {0};
    struct entry f;
    int what = look(w, c->path, &f, &tree, e);
    if (what < 0 || check_source(w, c, what == IS_FILE ? &f : NULL, e))
        return -1;
    if (what == IS_NOTHING)
        return not_found(c->path, e);
    if (strcmp(c->path, c->to) == 0) {
        report(w, c, what == IS_FILE ? &f : NULL, OUTCOME_SAME, 0);
        return 0;
    }
    if (is_within(c->to, c->path))
        return err_set(e, ERR_CONFLICT, "%.100s cannot be moved into itself", c->path);
    if (what == IS_FILE ? move_one(w, c, &f, e) : move_tree(w, c, &tree, e))
        return -1;
    return note_path(w, c->path, w->rev, /* aside= */ NULL, e)
               ? -1
               : note_path(w, c->to, w->rev, /* aside= */ NULL, e);
}

/* Everything that a copy of the directory needs, asked before anything is written. */
static int check_copy_room(struct work *w, const struct numbers *tree, struct err *e)
{
    uint64_t bytes = 0;
    struct entry f;
    for (size_t i = 0; i < tree->count; i++) {
        if (entry_by_number(w, tree->items[i], &f, e) != 1)
            return -1;
        bytes += f.content.size;
    }
    return check_room(w, tree->count, bytes, e);
}

static int make_dir(struct work *w, const char *path, struct entry *ret, struct err *e)
{
    int got = entry_trashed(w, path, FILE_DIR, ret, e);
    if (got < 0)
        return -1;
    return got ? entry_revive(w, ret, path, /* content= */ NULL, CHANGE_CREATED, e)
               : entry_create(w, path, FILE_DIR, /* content= */ NULL, ret, e);
}

static int copy_tree(struct work *w, struct file_change *c, const struct numbers *tree,
                     struct err *e)
{
    struct entry f, made;
    char path[PATH_BYTES_MAX + 1];
    bool has;
    if (check_target(w, c, c->to, &f, &has, e) || check_copy_room(w, tree, e) ||
        (has && entry_trash(w, &f, e)))
        return -1;
    for (size_t i = 0; i < tree->count; i++) {
        if (entry_by_number(w, tree->items[i], &f, e) != 1 ||
            other_path(f.path, c->path, c->to, path, e))
            return -1;
        if (f.kind == FILE_DIR ? make_dir(w, path, &made, e)
                               : place(w, c, path, &f.content, CHANGE_MODIFIED, e))
            return -1;
    }
    c->ret_file[0] = '\0';
    c->ret_version = 0;
    report(w, c, /* f= */ NULL, OUTCOME_DONE, CHANGE_CREATED);
    return 0;
}

static int copy_one(struct work *w, struct file_change *c, const struct entry *f, struct err *e)
{
    struct entry there;
    struct content content = f->content;
    bool has;
    if ((c->version && content_of(w, f, c->version, &content, e)) ||
        check_target(w, c, c->to, &there, &has, e))
        return -1;
    return place(w, c, c->to, &content, CHANGE_MODIFIED, e);
}

int op_copy(struct work *w, struct file_change *c, struct err *e)
{
    scoped(numbers_done) struct numbers tree = {0};
    struct entry f;
    int what = look(w, c->path, &f, &tree, e);
    if (what < 0 || check_source(w, c, what == IS_FILE ? &f : NULL, e))
        return -1;
    if (what == IS_NOTHING)
        return not_found(c->path, e);
    if (what == IS_DIR && is_within(c->to, c->path))
        return err_set(e, ERR_CONFLICT, "%.100s cannot be copied into itself", c->path);
    if (what == IS_FILE ? copy_one(w, c, &f, e) : copy_tree(w, c, &tree, e))
        return -1;
    return note_path(w, c->to, c->ret_rev, /* aside= */ NULL, e);
}

/* ---- mkdir ---- */

/* 0: it can be made. 1: it is there. Otherwise ERR_CONFLICT. */
static int check_dir(struct work *w, const char *path, struct entry *ret, bool *ret_has,
                     struct err *e)
{
    int got = entry_live(w, path, ret, e);
    if (got < 0)
        return -1;
    *ret_has = got == 1;
    if (got == 1)
        return ret->kind == FILE_DIR ? 1 : err_set(e, ERR_CONFLICT, "%.100s is a file", path);
    int below = has_below(w, path, e);
    if (below)
        return below;
    return check_way(w, path, e);
}

int op_mkdir(struct work *w, struct file_change *c, struct err *e)
{
    struct entry f;
    struct err why = {0};
    bool has = false;
    int there = check_dir(w, c->path, &f, &has, &why);
    if (there < 0 && why.code == ERR_CONFLICT && c->expect == EXPECT_SINCE && c->mark) {
        report(w, c, /* f= */ NULL, OUTCOME_KEPT, 0);
        return 0;
    }
    if (there < 0) {
        *e = why;
        return -1;
    }
    if (there) {
        report(w, c, has ? &f : NULL, OUTCOME_SAME, 0);
        return note_path(w, c->path, c->ret_rev, /* aside= */ NULL, e);
    }
    const struct held *by;
    if (locks_on(w, c->path, /* is_dir= */ true, &by, e))
        return -1;
    if (by) { /* of who gives way: others were refused before */
        report(w, c, /* f= */ NULL, OUTCOME_KEPT, 0);
        return locks_gave_way(w, c, by, e);
    }
    if (check_room(w, 1, 0, e) || make_dir(w, c->path, &f, e))
        return -1;
    report(w, c, &f, OUTCOME_DONE, CHANGE_CREATED);
    return note_path(w, c->path, c->ret_rev, /* aside= */ NULL, e);
}
