/* Changes that bring no bytes: delete, move, copy, mkdir, restore. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/commit_int.h"
#include "workspace/files_int.h"

static int add_other(struct commit *c, struct file_change *change, struct err *e)
{
    assert(!c->putting.is_on && !c->is_finished);
    c->has_other_ops = true;
    return commit_add(c, change, &(struct origin){0}, e);
}

int commit_delete(struct commit *c, const char *path, const struct how *how, struct err *e)
{
    struct file_change change;
    return change_fill(&change, OP_DELETE, path, /* to= */ NULL, how, e) || add_other(c, &change, e)
               ? -1
               : 0;
}

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);
    return strncmp(path, top, len) == 0 && path[len] == '/';
}

static int add_two(struct commit *c, enum change_op op, const char *path, const char *to,
                   const struct how *how, struct err *e)
{
    struct file_change change;
    if (change_fill(&change, op, path, to, how, e))
        return -1;
    if (is_below(change.to, change.path)) {
        change_done(&change);
        return err_set(e, ERR_INVALID,
                       "to: it lies inside of what goes there; choose another place");
    }
    return add_other(c, &change, e);
}

int commit_move(struct commit *c, const char *path, const char *to, const struct how *how,
                struct err *e)
{
    return add_two(c, OP_MOVE, path, to, how, e);
}

int commit_copy(struct commit *c, const char *path, const char *to, const struct how *how,
                struct err *e)
{
    return files_check_space(c->files, e) ? -1 : add_two(c, OP_COPY, path, to, how, e);
}

int commit_mkdir(struct commit *c, const char *path, struct err *e)
{
    struct file_change change;
    return change_fill(&change, OP_MKDIR, path, /* to= */ NULL, /* how= */ NULL, e) ||
                   add_other(c, &change, e)
               ? -1
               : 0;
}

int commit_restore(struct commit *c, const char *path, uint64_t version, const struct how *how,
                   struct err *e)
{
    struct file_change change;
    if (change_fill(&change, OP_RESTORE, path, /* to= */ NULL, how, e))
        return -1;
    change.version = version;
    return add_other(c, &change, e);
}

/* Where the trashed file `id` of this workspace was. */
static int trashed_path(struct commit *c, const char *id, char ret[PATH_BYTES_MAX + 1],
                        struct err *e)
{
    struct file_row row;
    int failed = meta_file_by_id(c->files->o.meta, id, &row, e);
    if (failed && e->code != ERR_NOT_FOUND)
        return -1;
    bool is_there = !failed && row.state == FILE_TRASHED &&
                    strcmp(row.workspace, c->row.workspace) == 0 &&
                    strlen(row.path) <= PATH_BYTES_MAX;
    if (is_there)
        memcpy(ret, row.path, strlen(row.path) + 1);
    if (!failed)
        file_row_done(&row);
    return is_there ? 0 : err_set(e, ERR_NOT_FOUND, "there is no file %.64s in the trash", id);
}

int commit_untrash(struct commit *c, const char *file, const char *path, const struct how *how,
                   struct err *e)
{
    char was[PATH_BYTES_MAX + 1];
    struct file_change change;
    if (trashed_path(c, file, was, e) ||
        change_fill(&change, OP_UNTRASH, path ? path : was, /* to= */ NULL, how, e))
        return -1;
    memcpy(change.file, file, strlen(file)); /* it was found, so it is short */
    return add_other(c, &change, e);
}
