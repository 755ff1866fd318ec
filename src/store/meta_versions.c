/* Versions: reading and pinning. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "store/files_int.h"

static const struct {
    const char *get, *at, *of_path, *list, *of_run, *pin, *number;
} sql = {
#define OF_FILE                                                                               \
    " FROM files AS f CROSS JOIN workspaces AS w ON w.number = f.workspace AND w.deleted = 0" \
    " CROSS JOIN versions AS v ON v.file = f.number" VERSION_AUTHOR " WHERE f.id = ?1 "
    .get = "SELECT " VERSION_COLUMNS OF_FILE "AND v.version = ?2",
    .at = "SELECT " VERSION_COLUMNS
          " FROM workspaces AS w CROSS JOIN versions AS v INDEXED BY versions_path"
          " CROSS JOIN files AS f ON f.number = v.file" VERSION_AUTHOR
          " WHERE w.id = ?1 AND w.deleted = 0 AND v.workspace = w.number AND v.path = ?2"
          " AND v.rev = (SELECT n.rev FROM versions AS n INDEXED BY versions_path"
          "   WHERE n.workspace = w.number AND n.path = ?2 AND n.rev <= ?3"
          "   ORDER BY n.rev DESC LIMIT 1)"
          " AND v.sha256 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM versions AS n"
          "   WHERE n.file = v.file AND n.version > v.version AND n.rev <= ?3)",
    .of_path = "SELECT " VERSION_COLUMNS
               " FROM workspaces AS w CROSS JOIN versions AS v INDEXED BY versions_path"
               " CROSS JOIN files AS f ON f.number = v.file" VERSION_AUTHOR
               " WHERE w.id = ?1 AND w.deleted = 0 AND v.workspace = w.number AND v.path = ?2"
               " AND v.version = ?3 ORDER BY v.rev DESC LIMIT 1",
    .list = "SELECT " VERSION_COLUMNS OF_FILE "AND v.version < ?2 ORDER BY v.version DESC LIMIT ?3",
    .of_run = "SELECT " VERSION_COLUMNS " FROM commits AS k INDEXED BY commits_run"
              " CROSS JOIN workspaces AS w ON w.number = k.workspace AND w.deleted = 0"
              " CROSS JOIN versions AS v INDEXED BY versions_rev"
              " ON v.workspace = k.workspace AND v.rev = k.rev"
              " CROSS JOIN files AS f ON f.number = v.file WHERE k.run = ?1",
    .pin = "UPDATE versions SET pinned = ?3 WHERE version = ?2"
           " AND file = (SELECT number FROM files WHERE id = ?1)",
    .number = "SELECT f.number FROM files AS f CROSS JOIN workspaces AS w"
              " ON w.number = f.workspace AND w.deleted = 0 WHERE f.id = ?1 AND f.state < 2",
};

static int64_t as_int(uint64_t v)
{
    return v < INT64_MAX ? (int64_t)v : INT64_MAX;
}

int meta_version_get(struct meta *m, const char *file, uint64_t version, struct version_row *ret,
                     struct err *e)
{
    return row_get(m, &version_rows_kind, sql.get,
                   SQL_WITH(SQL_TEXT(file), SQL_INT(as_int(version))), ret, e);
}

int meta_version_at(struct meta *m, const char *workspace, const char *path, uint64_t rev,
                    struct version_row *ret, struct err *e)
{
    return row_get(m, &version_rows_kind, sql.at,
                   SQL_WITH(SQL_TEXT(workspace), SQL_TEXT(path), SQL_INT(as_int(rev))), ret, e);
}

int meta_version_of_path(struct meta *m, const char *workspace, const char *path, uint64_t version,
                         struct version_row *ret, struct err *e)
{
    return row_get(m, &version_rows_kind, sql.of_path,
                   SQL_WITH(SQL_TEXT(workspace), SQL_TEXT(path), SQL_INT(as_int(version))), ret, e);
}

int meta_version_list(struct meta *m, const char *file, const struct page *page,
                      struct version_rows *ret, struct err *e)
{
    assert(page->limit >= 1 && page->limit <= PAGE_MAX);
    uint64_t before = INT64_MAX;
    struct row_list l;
    int64_t number;
    if (page->cursor && parse_u64(page->cursor, 0, INT64_MAX, &before, e))
        return err_set(e, ERR_INVALID, "cursor: not one that a list gave as next_cursor");
    if (meta_number(m, sql.number, SQL_WITH(SQL_TEXT(file)), &number, e))
        return -1;
    if (number == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no file %.64s", file);
    if (row_list(
            m, &version_rows_kind, sql.list,
            SQL_WITH(SQL_TEXT(file), SQL_INT((int64_t)before), SQL_INT((int64_t)page->limit + 1)),
            page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    if (ret->has_more)
        (void)snprintf(ret->next, sizeof ret->next, "%llu",
                       (unsigned long long)ret->items[ret->count - 1].version);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct version_row *one = a, *other = b;
    int order = strcmp(one->path, other->path);
    return order ? order : (one->rev > other->rev) - (one->rev < other->rev);
}

int meta_version_of_run(struct meta *m, const char *run, struct version_rows *ret, struct err *e)
{
    struct row_list l;
    if (row_list(m, &version_rows_kind, sql.of_run, SQL_WITH(SQL_TEXT(run)), /* limit= */ 0, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    if (ret->count > 1)
        qsort(ret->items, ret->count, sizeof *ret->items, by_path);
    return 0;
}

struct pinning {
    const char *file;
    uint64_t version;
    bool is_pinned;
};

static int pin(struct db_conn *c, void *arg, struct err *e)
{
    const struct pinning *p = arg;
    if (sql_run(c, sql.pin,
                SQL_WITH(SQL_TEXT(p->file), SQL_INT(as_int(p->version)), SQL_INT(p->is_pinned)), e))
        return -1;
    return sql_changes(c) > 0 ? 0
                              : err_set(e, ERR_NOT_FOUND, "there is no version %llu of %.64s",
                                        (unsigned long long)p->version, p->file);
}

int meta_version_pin(struct meta *m, const char *file, uint64_t version, bool is_pinned,
                     struct err *e)
{
    struct pinning p = {file, version, is_pinned};
    return db_write(m->db, pin, &p, e);
}
