/* Putting a content at a path, and what a change expects. */
#include <string.h>

#include "base/err.h"
#include "store/commit_int.h"

static const struct {
    const char *change, *add;
} note_sql = {
    /* Two statements, because an upsert opens a savepoint for every row. */
    .change = "UPDATE session_paths SET rev = ?3, aside = ?4 WHERE session = ?1 AND path = ?2",
    .add = "INSERT INTO session_paths (session, path, rev, aside) VALUES (?1, ?2, ?3, ?4)",
};

int note_path(struct work *w, const char *path, uint64_t rev, const char *aside, struct err *e)
{
    if (!w->commit->is_working_copy)
        return 0;
    const struct sql_value values[] = {SQL_TEXT(w->commit->author.session), SQL_TEXT(path),
                                       SQL_INT((int64_t)rev), SQL_TEXT(aside)};
    if (sql_run(w->c, note_sql.change, values, 4, e))
        return -1;
    return sql_changes(w->c) > 0 ? 0 : sql_run(w->c, note_sql.add, values, 4, e);
}

/* The revision that what was read now belongs to. */
uint64_t rev_now(const struct work *w)
{
    return w->has_changed ? w->rev : w->rev - 1;
}

void report(struct work *w, struct file_change *c, const struct entry *f, enum outcome outcome,
            enum change made)
{
    c->outcome = outcome;
    c->made = made;
    c->ret_rev = f ? f->rev : rev_now(w);
    if (f) {
        memcpy(c->ret_file, f->id, sizeof c->ret_file);
        c->ret_version = f->version;
    }
}

static bool is_same(const struct entry *f, const struct content *content)
{
    return f->has_content && f->content.size == content->size &&
           memcmp(f->content.sha256, content->sha256, HASH_LEN) == 0;
}

static int check_unchanged(struct work *w, const char *path, const struct entry *found,
                           uint64_t since, struct err *e)
{
    if (found)
        return found->rev > since;
    return was_there(w, path, since, e); /* and is not any more */
}

int check_expected(struct work *w, const struct file_change *c, const char *path,
                   const struct entry *found, struct err *e)
{
    switch (c->expect) {
    case EXPECT_ANY: return 0;
    case EXPECT_SINCE: return check_unchanged(w, path, found, c->since, e);
    case EXPECT_ABSENT:
        if (!found)
            return 0;
        return err_set(e, ERR_PRECONDITION, "there is a file at %.100s already (version %llu)",
                       path, (unsigned long long)found->version);
    case EXPECT_VERSION: break;
    }
    if (!found)
        return err_set(e, ERR_PRECONDITION, "there is no file at %.100s any more", path);
    if ((*c->expected_file && strcmp(c->expected_file, found->id) != 0) ||
        (c->expected_version && c->expected_version != found->version))
        return err_set(e, ERR_PRECONDITION,
                       "%.100s is at version %llu now: read it again before changing it", path,
                       (unsigned long long)found->version);
    return 0;
}

int check_way(struct work *w, const char *path, struct err *e)
{
    size_t blocked;
    if (blocked_at(w, path, &blocked, e))
        return -1;
    if (blocked)
        return err_set(e, ERR_CONFLICT, "%.*s is a file, so nothing can be put below it",
                       (int)(blocked < 100 ? blocked : 100), path);
    int below = has_below(w, path, e);
    if (below < 0)
        return -1;
    return below ? err_set(e, ERR_CONFLICT, "%.100s is a directory", path) : 0;
}

/* A file where there is none: a new one, or one of the trash goes on. */
static int place_new(struct work *w, struct file_change *c, const char *path,
                     const struct content *content, struct err *e)
{
    struct entry f;
    if (check_way(w, path, e) || check_room(w, 1, content->size, e))
        return -1;
    int got = entry_trashed(w, path, FILE_REGULAR, &f, e);
    if (got < 0)
        return -1;
    if (got ? entry_revive(w, &f, path, content, CHANGE_CREATED, e)
            : entry_create(w, path, FILE_REGULAR, content, &f, e))
        return -1;
    report(w, c, &f, OUTCOME_DONE, CHANGE_CREATED);
    return 0;
}

int place(struct work *w, struct file_change *c, const char *path, const struct content *content,
          enum change change, struct err *e)
{
    struct entry f;
    int got = entry_live(w, path, &f, e);
    if (got < 0)
        return -1;
    if (!got)
        return place_new(w, c, path, content, e);
    if (f.kind == FILE_DIR)
        return err_set(e, ERR_CONFLICT, "%.100s is a directory", path);
    if (is_same(&f, content)) {
        report(w, c, &f, OUTCOME_SAME, 0);
        return 0;
    }
    if (check_room(w, 0, content->size, e) || entry_modify(w, &f, content, change, e))
        return -1;
    report(w, c, &f, OUTCOME_DONE, change);
    return 0;
}

static int put_there(struct work *w, struct file_change *c, struct err *e)
{
    if (place(w, c, c->path, &c->content, CHANGE_MODIFIED, e))
        return -1;
    return note_path(w, c->path, c->ret_rev, /* aside= */ NULL, e);
}

/* Somebody holds a lock: beside it, out of the tree that is locked, if there is such a place. */
static int give_way(struct work *w, struct file_change *c, const struct held *by, struct err *e)
{
    if (locks_all(w))
        report(w, c, /* f= */ NULL, OUTCOME_LOCKED, 0);
    else if (put_aside_if(w, c, /* differs= */ true, e) < 0)
        return -1;
    return locks_gave_way(w, c, by, e);
}

int op_put(struct work *w, struct file_change *c, struct err *e)
{
    struct entry f;
    int got = entry_live(w, c->path, &f, e);
    if (got < 0)
        return -1;
    if (c->expect == EXPECT_SINCE && got && f.kind == FILE_REGULAR && is_same(&f, &c->content)) {
        report(w, c, &f, OUTCOME_SAME, 0);
        return note_path(w, c->path, f.rev, /* aside= */ NULL, e);
    }
    int differs = check_expected(w, c, c->path, got ? &f : NULL, e);
    if (differs < 0)
        return -1;
    if (c->expect != EXPECT_SINCE || !c->mark) {
        if (differs)
            return err_set(e, ERR_PRECONDITION, "%.100s was changed by somebody else meanwhile",
                           c->path);
        return put_there(w, c, e);
    }
    const struct held *by;
    if (locks_on(w, c->path, /* is_dir= */ false, &by, e))
        return -1;
    if (by)
        return give_way(w, c, by, e);
    int is_aside = put_aside_if(w, c, differs, e);
    if (is_aside)
        return is_aside < 0 ? -1 : 0;
    struct err why = {0};
    if (!put_there(w, c, &why))
        return 0;
    if (why.code == ERR_CONFLICT) /* something is in the way */
        return put_aside_if(w, c, /* differs= */ true, e) < 0 ? -1 : 0;
    *e = why;
    return -1;
}
