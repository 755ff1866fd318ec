/* Earlier versions, and files out of the trash. */
#include <stdio.h>

#include "base/err.h"
#include "store/commit_int.h"

static int differs(struct work *w, const struct file_change *c, const char *path,
                   const struct entry *found, struct err *e)
{
    int got = check_expected(w, c, path, found, e);
    return got > 0
               ? err_set(e, ERR_PRECONDITION, "%.100s was changed by somebody else meanwhile", path)
               : got;
}

int op_restore(struct work *w, struct file_change *c, struct err *e)
{
    struct entry f;
    struct content content;
    int got = entry_live(w, c->path, &f, e);
    if (got < 0 || differs(w, c, c->path, got ? &f : NULL, e))
        return -1;
    if (!got || f.kind != FILE_REGULAR)
        return err_set(e, ERR_NOT_FOUND,
                       "there is no file at %.100s: if it was deleted, restore it from the trash",
                       c->path);
    if (content_of(w, &f, c->version, &content, e) ||
        place(w, c, c->path, &content, CHANGE_RESTORED, e))
        return -1;
    return note_path(w, c->path, c->ret_rev, /* aside= */ NULL, e);
}

int op_untrash(struct work *w, struct file_change *c, struct err *e)
{
    struct entry f, there;
    int found = entry_by_id(w, c->file, &f, e);
    if (found < 0)
        return -1;
    if (!found)
        return err_set(e, ERR_NOT_FOUND, "there is no file %.64s in the trash", c->file);
    if (f.state != FILE_TRASHED)
        return err_set(e, ERR_CONFLICT, "%.100s is not in the trash", f.path);
    char path[sizeof f.path];
    (void)snprintf(path, sizeof path, "%s", c->path ? c->path : f.path);
    int got = entry_live(w, path, &there, e);
    if (got < 0 || differs(w, c, path, got ? &there : NULL, e))
        return -1;
    if (got && there.kind == FILE_DIR)
        return err_set(e, ERR_CONFLICT, "%.100s is a directory", path);
    if (got && !c->is_overwriting)
        return err_set(e, ERR_CONFLICT,
                       "there is a file at %.100s: choose another path, or ask to overwrite it",
                       path);
    if ((!got && (check_way(w, path, e) || check_room(w, 1, 0, e))) ||
        (got && entry_trash(w, &there, e)) ||
        entry_revive(w, &f, path, /* content= */ NULL, CHANGE_RESTORED, e))
        return -1;
    report(w, c, &f, OUTCOME_DONE, CHANGE_RESTORED);
    return note_path(w, path, c->ret_rev, /* aside= */ NULL, e);
}
