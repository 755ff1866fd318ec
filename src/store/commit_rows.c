/* The rows of a commit. Every function that writes keeps the workspace's counters with what it wrote. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/commit_int.h"

static const struct {
    const char *live, *trashed, *by_id, *by_number, *below, *tree, *is_file, *version, *was_there,
        *next_number, *create, *modify, *rewrite, *add_version;
} sql = {
#define COLUMNS "SELECT number, id, path, kind, state, version, rev, sha256, size FROM files "
/* ?2 || '/' to ?2 || '0': '0' follows '/'. */
#define BELOW "workspace = ?1 AND state = 0 AND path > ?2 || '/' AND path < ?2 || '0'"
    .live = COLUMNS "INDEXED BY files_live WHERE workspace = ?1 AND path = ?2 AND state = 0",
    .trashed = COLUMNS "INDEXED BY files_trashed WHERE workspace = ?1 AND path = ?2 AND kind = ?3"
                       " AND state = 1 ORDER BY rev DESC, number DESC LIMIT 1",
    .by_id = COLUMNS "WHERE id = ?2 AND workspace = ?1",
    .by_number = COLUMNS "WHERE number = ?2 AND workspace = ?1",
    .below = "SELECT 1 FROM files INDEXED BY files_live WHERE " BELOW " LIMIT 1",
    .tree = "SELECT number FROM files INDEXED BY files_live WHERE " BELOW " LIMIT ?3",
    .is_file = "SELECT 1 FROM files INDEXED BY files_live WHERE workspace = ?1 AND path = ?2"
               " AND state = 0 AND kind = 0",
    .version = "SELECT sha256, size FROM versions WHERE file = ?1 AND version = ?2",
    .was_there = "SELECT 1 FROM versions AS v INDEXED BY versions_path WHERE v.workspace = ?1"
                 " AND v.path = ?2 AND v.rev = (SELECT n.rev FROM versions AS n"
                 " INDEXED BY versions_path WHERE n.workspace = ?1 AND n.path = ?2 AND n.rev <= ?3"
                 " ORDER BY n.rev DESC LIMIT 1) AND v.sha256 IS NOT NULL AND NOT EXISTS (SELECT 1"
                 " FROM versions AS n WHERE n.file = v.file AND n.version > v.version"
                 " AND n.rev <= ?3) LIMIT 1",
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
#undef COLUMNS
};

void numbers_done(struct numbers *n)
{
    free(n->items);
    *n = (struct numbers){0};
}

/* ---- looking ---- */

static void read_content(const struct sql_rows *rows, int column, bool *has, struct content *ret)
{
    struct str hash = sql_text(rows, column);
    *ret = (struct content){.size = (uint64_t)sql_int(rows, column + 1)};
    *has = hash.len == HASH_LEN;
    if (*has)
        memcpy(ret->sha256, hash.ptr, HASH_LEN);
}

static void set_path(struct entry *f, const char *path)
{
    size_t len = strlen(path);
    assert(len < sizeof f->path);
    memcpy(f->path, path, len + 1);
}

static int read_entry(const struct sql_rows *rows, struct entry *ret, struct err *e)
{
    struct str path = sql_text(rows, 2);
    if (path.len >= sizeof ret->path)
        return err_set(e, ERR_DAMAGED, "a path in the database is too long");
    ret->number = sql_int(rows, 0);
    sql_id(rows, 1, ret->id);
    memcpy(ret->path, path.ptr, path.len);
    ret->path[path.len] = '\0';
    ret->kind = (enum file_kind)sql_int(rows, 3);
    ret->state = (enum file_state)sql_int(rows, 4);
    ret->version = (uint64_t)sql_int(rows, 5);
    ret->rev = (uint64_t)sql_int(rows, 6);
    read_content(rows, 7, &ret->has_content, &ret->content);
    return 0;
}

static int find(struct work *w, const char *text, const struct sql_value *values, size_t count,
                struct entry *ret, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(w->c, text, values, count, &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got == 1 && read_entry(&rows, ret, e))
        return -1;
    return got;
}

int entry_live(struct work *w, const char *path, struct entry *ret, struct err *e)
{
    return find(w, sql.live, SQL_WITH(SQL_INT(w->workspace), SQL_TEXT(path)), ret, e);
}

int entry_trashed(struct work *w, const char *path, enum file_kind kind, struct entry *ret,
                  struct err *e)
{
    return find(w, sql.trashed, SQL_WITH(SQL_INT(w->workspace), SQL_TEXT(path), SQL_INT(kind)), ret,
                e);
}

int entry_by_id(struct work *w, const char *id, struct entry *ret, struct err *e)
{
    return find(w, sql.by_id, SQL_WITH(SQL_INT(w->workspace), SQL_TEXT(id)), ret, e);
}

int entry_by_number(struct work *w, int64_t number, struct entry *ret, struct err *e)
{
    return find(w, sql.by_number, SQL_WITH(SQL_INT(w->workspace), SQL_INT(number)), ret, e);
}

/* 1 when there is a row. */
static int exists(struct work *w, const char *text, const struct sql_value *values, size_t count,
                  struct err *e)
{
    int64_t found;
    return sql_number(w->c, text, values, count, &found, e) ? -1 : found != 0;
}

int has_below(struct work *w, const char *path, struct err *e)
{
    return exists(w, sql.below, SQL_WITH(SQL_INT(w->workspace), SQL_TEXT(path)), e);
}

int was_there(struct work *w, const char *path, uint64_t rev, struct err *e)
{
    int64_t until = rev < INT64_MAX ? (int64_t)rev : INT64_MAX;
    return exists(w, sql.was_there, SQL_WITH(SQL_INT(w->workspace), SQL_TEXT(path), SQL_INT(until)),
                  e);
}

static int add_number(struct numbers *n, size_t *cap, int64_t number, struct err *e)
{
    if (n->count == *cap) {
        size_t wider = *cap ? 2 * *cap : 64;
        int64_t *items = reallocarray(n->items, wider, sizeof *items);
        if (!items)
            return err_set(e, ERR_NO_MEMORY, "look at a directory");
        n->items = items;
        *cap = wider;
    }
    n->items[n->count++] = number;
    return 0;
}

int list_tree(struct work *w, const char *path, struct numbers *ret, struct err *e)
{
    scoped(numbers_done) struct numbers n = {0};
    size_t cap = 0;
    struct entry itself;
    int got = entry_live(w, path, &itself, e);
    if (got < 0 || (got == 1 && add_number(&n, &cap, itself.number, e)))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(w->c, sql.tree,
                  SQL_WITH(SQL_INT(w->workspace), SQL_TEXT(path), SQL_INT(TREE_MAX + 1)), &rows, e))
        return -1;
    while ((got = sql_next(&rows, e)) == 1)
        if (add_number(&n, &cap, sql_int(&rows, 0), e))
            return -1;
    if (got < 0)
        return -1;
    if (n.count > TREE_MAX)
        return err_set(e, ERR_LIMIT,
                       "there are more than %d files in %.100s: take its subdirectories one by one",
                       TREE_MAX, path);
    *ret = n;
    n = (struct numbers){0};
    return 0;
}

int blocked_at(struct work *w, const char *path, size_t *ret, struct err *e)
{
    *ret = 0;
    const char *last = strrchr(path, '/');
    if (!last)
        return 0;
    size_t dir_len = (size_t)(last - path);
    if (strncmp(w->open_dir, path, dir_len) == 0 && w->open_dir[dir_len] == '\0')
        return 0;
    char above[PATH_BYTES_MAX + 1];
    memcpy(above, path, dir_len + 1);
    for (size_t end = 0; end <= dir_len; end++) {
        if (path[end] != '/')
            continue;
        above[end] = '\0';
        int found = exists(w, sql.is_file, SQL_WITH(SQL_INT(w->workspace), SQL_TEXT(above)), e);
        if (found < 0)
            return -1;
        if (found) {
            *ret = end;
            return 0;
        }
        above[end] = '/';
    }
    return 0;
}

int content_of(struct work *w, const struct entry *f, uint64_t version, struct content *ret,
               struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(w->c, sql.version, SQL_WITH(SQL_INT(f->number), SQL_INT((int64_t)version)), &rows,
                  e))
        return -1;
    int got = sql_next(&rows, e);
    if (got < 0)
        return -1;
    bool has = false;
    struct content content = {0};
    if (got)
        read_content(&rows, 0, &has, &content);
    if (!got)
        return err_set(e, ERR_NOT_FOUND, "%.100s has no version %llu (or no longer)", f->path,
                       (unsigned long long)version);
    if (!has)
        return err_set(e, ERR_CONFLICT,
                       "version %llu of %.100s is a deletion and holds nothing: choose the one "
                       "before it",
                       (unsigned long long)version, f->path);
    *ret = content;
    return 0;
}

/* ---- writing ---- */

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
