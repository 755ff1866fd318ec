/* What changed since a revision: for whoever brings a copy up to date. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/files_int.h"

static const struct {
    const char *all, *since;
} sql = {
    .all = "SELECT " FILE_COLUMNS
           ", NULL FROM workspaces AS w CROSS JOIN files AS f INDEXED BY files_rev" FILE_AUTHOR
           " WHERE w.id = ?1 AND w.deleted = 0 AND f.workspace = w.number AND f.rev > ?3"
           " AND f.state = 0 ORDER BY f.rev",
    /* The last column: where the file was at that revision, when it is not there any more and
     * nothing else is. */
    .since = "SELECT " FILE_COLUMNS
             ", (SELECT v.path FROM versions AS v WHERE v.file = f.number AND v.rev <= ?2"
             "   AND v.version = (SELECT n.version FROM versions AS n WHERE n.file = f.number"
             "     AND n.rev <= ?2 ORDER BY n.version DESC LIMIT 1)"
             "   AND v.path <> f.path AND v.change <> 3"
             "   AND NOT EXISTS (SELECT 1 FROM files AS g INDEXED BY files_live"
             "     WHERE g.workspace = f.workspace AND g.path = v.path AND g.state = 0))"
             " FROM workspaces AS w CROSS JOIN files AS f INDEXED BY files_rev" FILE_AUTHOR
             " WHERE w.id = ?1 AND w.deleted = 0 AND f.workspace = w.number AND f.rev > ?3"
             " ORDER BY f.rev",
};

/* The place that a file left, as if it had been deleted there. */
static int add_left(struct file_list *l, const struct file_row *moved, struct str path,
                    struct err *e)
{
    struct file_row left = *moved;
    left.state = FILE_TRASHED;
    left.change = CHANGE_MOVED;
    left.owned = NULL;
    return file_row_named(&left, path.ptr, path.len, e) ? -1 : file_list_add(l, &left, e);
}

static int add_changed(struct file_list *l, const struct sql_rows *rows, struct err *e)
{
    struct file_row row;
    struct str left = sql_text(rows, 17);
    if (file_rows_kind.read(rows, &row, e))
        return -1;
    if (left.ptr && add_left(l, &row, left, e)) {
        file_row_done(&row);
        return -1;
    }
    return file_list_add(l, &row, e);
}

/* Takes away what belongs to the last revision, unless that is the only one. */
static bool cut_last_rev(struct file_list *l)
{
    uint64_t rev = l->items[l->count - 1].rev;
    if (l->items[0].rev == rev)
        return false;
    while (l->items[l->count - 1].rev == rev)
        file_row_done(&l->items[--l->count]);
    return true;
}

static int fill(struct sql_rows *rows, struct file_list *l, uint32_t limit, bool *has_more,
                struct err *e)
{
    int got;
    while ((got = sql_next(rows, e)) == 1) {
        if (l->count >= limit && l->count > 0) {
            bool is_next = l->items[l->count - 1].rev != (uint64_t)sql_int(rows, 6);
            if (is_next || cut_last_rev(l)) {
                *has_more = true;
                return 0;
            }
        }
        if (add_changed(l, rows, e))
            return -1;
    }
    return got;
}

/* What is gone goes first: something else may have taken its place in the same commit. */
static int by_change(const void *left, const void *right)
{
    const struct file_row *a = left, *b = right;
    if (a->rev != b->rev)
        return a->rev < b->rev ? -1 : 1;
    return (a->state == FILE_LIVE) - (b->state == FILE_LIVE);
}

static struct sql_value sql_rev(uint64_t rev)
{
    return SQL_INT(rev < INT64_MAX ? (int64_t)rev : INT64_MAX);
}

int meta_file_changes_after(struct meta *m, const char *workspace, uint64_t since, uint64_t after,
                            uint32_t limit, struct file_rows *ret, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    scoped(file_list_done) struct file_list l = {0};
    bool has_more = false;
    if (sql_query(c, since ? sql.since : sql.all,
                  SQL_WITH(SQL_TEXT(workspace), sql_rev(since), sql_rev(after)), &rows, e) ||
        fill(&rows, &l, limit, &has_more, e))
        return -1;
    if (l.count > 1)
        qsort(l.items, l.count, sizeof *l.items, by_change);
    *ret = (struct file_rows){.items = l.items, .count = l.count, .has_more = has_more};
    l = (struct file_list){0};
    return 0;
}

int meta_file_changes(struct meta *m, const char *workspace, uint64_t since, uint32_t limit,
                      struct file_rows *ret, struct err *e)
{
    return meta_file_changes_after(m, workspace, since, since, limit, ret, e);
}
