/* What a commit finds: the rows before it, and those that it has written itself. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/commit_int.h"

static const struct {
    const char *live, *trashed, *by_id, *by_number, *below, *tree, *is_file, *version, *was_there;
} sql = {
#define COLUMNS "SELECT number, id, path, kind, state, version, rev, sha256, size FROM files "
/* ?2 || '/' to ?2 || '0': '0' follows '/'. */
#define BELOW "workspace = ?1 AND state = 0 AND path > ?2 || '/' AND path < ?2 || '0'"
    .live = COLUMNS "INDEXED BY files_live WHERE workspace = ?1 AND path = ?2 AND state = 0",
    .trashed = COLUMNS "INDEXED BY files_trashed WHERE workspace = ?1 AND path = ?2 AND kind = ?3"
                       " AND state = 1 ORDER BY rev DESC, number DESC LIMIT 1",
    .by_id = COLUMNS "WHERE id = ?2 AND workspace = ?1 AND state < 2",
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
#undef COLUMNS
#undef BELOW
};

void numbers_done(struct numbers *n)
{
    free(n->items);
    *n = (struct numbers){0};
}

static void read_content(const struct sql_rows *rows, int column, bool *has, struct content *ret)
{
    struct str hash = sql_text(rows, column);
    *ret = (struct content){.size = (uint64_t)sql_int(rows, column + 1)};
    *has = hash.len == HASH_LEN;
    if (*has)
        memcpy(ret->sha256, hash.ptr, HASH_LEN);
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
