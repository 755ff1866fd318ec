/* The rows that a commit writes. Every function keeps the workspace's counters with what it wrote. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "store/commit_int.h"

static const struct {
    const char *next_number, *create, *modify, *rewrite, *add_version;
} sql = {
    .next_number = "SELECT coalesce(max(number), 0) + 1 FROM files",
    /* The number is given, because RETURNING makes SQLite open a savepoint for every row, and what
     * that costs grows with what the commit has written before. */
    .create = "INSERT INTO files (number, id, workspace, path, kind, state, version, rev, sha256,"
              " size, change, kept, created, changed)"
              " VALUES (?9, ?1, ?2, ?3, ?4, 0, 1, ?5, ?6, ?7, 1, 1, ?8, ?8)",
    .modify = "UPDATE files SET version = ?2, rev = ?3, sha256 = ?4, size = ?5, change = ?6,"
              " changed = ?7, kept = kept + 1 WHERE number = ?1",
    .rewrite = "UPDATE files SET version = ?2, rev = ?3, sha256 = ?4, size = ?5, change = ?6,"
               " changed = ?7, kept = kept + 1, path = ?8, state = ?9 WHERE number = ?1",
    .add_version = "INSERT INTO versions (file, version, workspace, vault, rev, path, sha256, size,"
                   " cost, change, pinned, created)"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11)",
};

static void set_path(struct entry *f, const char *path)
{
    size_t len = strlen(path);
    assert(len < sizeof f->path);
    memcpy(f->path, path, len + 1);
}

int check_room(struct work *w, uint64_t files, uint64_t bytes, struct err *e)
{
    const struct commit_row *q = w->commit;
    if (files > 0 && q->files_max > 0 &&
        (w->files >= q->files_max || files > q->files_max - w->files))
        return err_set(
            e, ERR_QUOTA,
            "the workspace has %llu of %llu files and this makes %llu more: delete some, "
            "or ask for a larger quota",
            (unsigned long long)w->files, (unsigned long long)q->files_max,
            (unsigned long long)files);
    if (bytes > 0 && q->bytes_max > 0 &&
        (w->kept_bytes >= q->bytes_max || bytes > q->bytes_max - w->kept_bytes))
        return err_set(e, ERR_QUOTA,
                       "the workspace keeps %llu of %llu bytes, earlier versions and the trash "
                       "included, and this needs %llu more: purge some, or ask for a larger quota",
                       (unsigned long long)w->kept_bytes, (unsigned long long)q->bytes_max,
                       (unsigned long long)bytes);
    if (bytes > 0 && w->owner_max >= 0 &&
        (w->kept_bytes >= (uint64_t)w->owner_max || bytes > (uint64_t)w->owner_max - w->kept_bytes))
        return err_set(e, ERR_QUOTA,
                       "all workspaces of the owner together have no room for %llu bytes more: "
                       "purge some, or ask for a larger quota",
                       (unsigned long long)bytes);
    return 0;
}

static struct sql_value hash_value(const struct content *content)
{
    return content ? SQL_BYTES(content->sha256, HASH_LEN) : (struct sql_value){0};
}

static int add_version(struct work *w, const struct entry *f, const struct content *content,
                       uint64_t cost, enum change change, struct err *e)
{
    if (sql_run(w->c, sql.add_version,
                SQL_WITH(SQL_INT(f->number), SQL_INT((int64_t)f->version), SQL_INT(w->workspace),
                         SQL_INT(w->vault), SQL_INT((int64_t)w->rev), SQL_TEXT(f->path),
                         hash_value(content), SQL_INT(content ? (int64_t)content->size : 0),
                         SQL_INT((int64_t)cost), SQL_INT(change), SQL_INT(w->commit->created_us)),
                e))
        return -1;
    w->kept_bytes += cost;
    w->has_changed = true;
    return 0;
}

/* A live file stands in its directory: whoever comes next need not look above. */
static void note_open_dir(struct work *w, const char *path)
{
    const char *last = strrchr(path, '/');
    size_t len = last ? (size_t)(last - path) : 0;
    memcpy(w->open_dir, path, len);
    w->open_dir[len] = '\0';
}

int entry_create(struct work *w, const char *path, enum file_kind kind,
                 const struct content *content, struct entry *ret, struct err *e)
{
    *ret = (struct entry){.kind = kind, .version = 1, .rev = w->rev, .has_content = content};
    if (content)
        ret->content = *content;
    set_path(ret, path);
    if (w->next_number == 0 && sql_number(w->c, sql.next_number, SQL_NOTHING, &w->next_number, e))
        return -1;
    ret->number = w->next_number++;
    if (id_make("file_", ret->id, e) ||
        sql_run(w->c, sql.create,
                SQL_WITH(SQL_TEXT(ret->id), SQL_INT(w->workspace), SQL_TEXT(path), SQL_INT(kind),
                         SQL_INT((int64_t)w->rev), hash_value(content),
                         SQL_INT((int64_t)ret->content.size), SQL_INT(w->commit->created_us),
                         SQL_INT(ret->number)),
                e) ||
        add_version(w, ret, content, ret->content.size, CHANGE_CREATED, e))
        return -1;
    w->files++;
    w->bytes += ret->content.size;
    note_open_dir(w, path);
    return 0;
}

int entry_modify(struct work *w, struct entry *f, const struct content *content, enum change change,
                 struct err *e)
{
    f->version++;
    f->rev = w->rev;
    if (sql_run(w->c, sql.modify,
                SQL_WITH(SQL_INT(f->number), SQL_INT((int64_t)f->version), SQL_INT((int64_t)w->rev),
                         hash_value(content), SQL_INT((int64_t)content->size), SQL_INT(change),
                         SQL_INT(w->commit->created_us)),
                e) ||
        add_version(w, f, content, content->size, change, e))
        return -1;
    w->bytes += content->size;
    w->bytes -= f->content.size;
    f->content = *content;
    note_open_dir(w, f->path);
    return 0;
}

/* The next version, with another place or state. `content`: of the version; the row keeps its own. */
static int rewrite(struct work *w, struct entry *f, const struct content *content, uint64_t cost,
                   enum change change, struct err *e)
{
    f->version++;
    f->rev = w->rev;
    w->open_dir[0] = '\0';
    if (sql_run(w->c, sql.rewrite,
                SQL_WITH(SQL_INT(f->number), SQL_INT((int64_t)f->version), SQL_INT((int64_t)w->rev),
                         hash_value(f->has_content ? &f->content : NULL),
                         SQL_INT((int64_t)f->content.size), SQL_INT(change),
                         SQL_INT(w->commit->created_us), SQL_TEXT(f->path), SQL_INT(f->state)),
                e))
        return -1;
    return add_version(w, f, content, cost, change, e);
}

int entry_revive(struct work *w, struct entry *f, const char *path, const struct content *content,
                 enum change change, struct err *e)
{
    set_path(f, path);
    f->state = FILE_LIVE;
    if (content) {
        f->content = *content;
        f->has_content = true;
    }
    if (rewrite(w, f, f->has_content ? &f->content : NULL, content ? content->size : 0, change, e))
        return -1;
    w->files++;
    w->bytes += f->content.size;
    return 0;
}

int entry_move(struct work *w, struct entry *f, const char *path, struct err *e)
{
    set_path(f, path);
    return rewrite(w, f, f->has_content ? &f->content : NULL, 0, CHANGE_MOVED, e);
}

int entry_trash(struct work *w, struct entry *f, struct err *e)
{
    f->state = FILE_TRASHED;
    if (rewrite(w, f, /* content= */ NULL, 0, CHANGE_DELETED, e))
        return -1;
    w->files--;
    w->bytes -= f->content.size;
    return 0;
}
