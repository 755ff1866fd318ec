/* Files: single ones and lists. */
#include "store/meta_files.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/glob.h"
#include "base/parse.h"
#include "base/scope.h"
#include "store/files_int.h"

enum { LOOKED_AT_MAX = 100000 }; /* rows, when not all are wanted */

static const struct {
    const char *at, *by_id, *from, *trash, *has_row;
} sql = {
#define OF_WORKSPACE                                                                \
    " FROM workspaces AS w CROSS JOIN files AS f INDEXED BY files_live" FILE_AUTHOR \
    " WHERE w.id = ?1 AND w.deleted = 0 AND f.workspace = w.number AND f.state = 0 "
    .at = "SELECT " FILE_COLUMNS OF_WORKSPACE "AND f.path = ?2",
    .by_id = "SELECT " FILE_COLUMNS " FROM files AS f CROSS JOIN workspaces AS w"
             " ON w.number = f.workspace AND w.deleted = 0" FILE_AUTHOR
             " WHERE f.id = ?1 AND f.state < 2",
    .from = "SELECT " FILE_COLUMNS OF_WORKSPACE "AND f.path >= ?2 AND f.path < ?3 ORDER BY f.path",
    .trash = "SELECT " FILE_COLUMNS
             " FROM workspaces AS w CROSS JOIN files AS f INDEXED BY files_trash" FILE_AUTHOR
             " WHERE w.id = ?1 AND w.deleted = 0 AND f.workspace = w.number AND f.state = 1"
             " AND (f.changed, f.number) < (?2, ?3) ORDER BY f.changed DESC, f.number DESC",
    .has_row = "SELECT 1 FROM workspaces AS w CROSS JOIN files AS f INDEXED BY files_live"
               " WHERE w.id = ?1 AND w.deleted = 0 AND f.workspace = w.number AND f.state = 0"
               " AND f.path = ?2",
};

int meta_file_get(struct meta *m, const char *workspace, const char *path, struct file_row *ret,
                  struct err *e)
{
    return row_get(m, &file_rows_kind, sql.at, SQL_WITH(SQL_TEXT(workspace), SQL_TEXT(path)), ret,
                   e);
}

int meta_file_by_id(struct meta *m, const char *id, struct file_row *ret, struct err *e)
{
    return row_get(m, &file_rows_kind, sql.by_id, SQL_WITH(SQL_TEXT(id)), ret, e);
}

/* ---- lists ---- */

/* One list while it is read. */
struct listing {
    struct db_conn *c;
    const char *workspace;
    const struct file_query *query;
    size_t prefix_len;
    char *from, *until; /* the range of paths that is still to be looked at */
    struct file_list found;
    size_t looked_at;
    char *next; /* where to go on */
};

static void listing_done(struct listing *l)
{
    file_list_done(&l->found);
    free(l->from);
    free(l->until);
    free(l->next);
}

static char *join(const char *text, size_t len, const char *more, struct err *e)
{
    char *both = NULL;
    if (asprintf(&both, "%.*s%s", (int)len, text, more) < 0) {
        (void)err_set(e, ERR_NO_MEMORY, "read a list");
        return NULL;
    }
    return both;
}

/* The first text behind all that begin with `prefix`. */
static char *behind(const char *prefix, size_t len, struct err *e)
{
    while (len > 0 && (unsigned char)prefix[len - 1] == 0xff)
        len--;
    if (len == 0)
        return join("", 0, "\xff", e);
    const char last[2] = {(char)((unsigned char)prefix[len - 1] + 1), '\0'};
    return join(prefix, len - 1, last, e);
}

/* Where a list begins that goes on after `after`. A directory of a flat list is passed as a whole. */
static char *begin_after(const struct listing *l, const char *after, struct err *e)
{
    if (l->query->is_flat && strncmp(after, l->query->prefix, l->prefix_len) == 0) {
        const char *slash = strchr(after + l->prefix_len, '/');
        if (slash)
            return join(after, (size_t)(slash - after), "0", e); /* '0' follows '/' */
    }
    return join(after, strlen(after), "\x01", e); /* no path has control characters */
}

/* Sets the range: the prefix, what the glob begins with, and the place where it goes on. */
static int set_range(struct listing *l, struct err *e)
{
    const struct file_query *q = l->query;
    const char *prefix = q->prefix;
    size_t len = l->prefix_len, literal = q->glob ? glob_literal_len(q->glob) : 0;
    size_t common = len < literal ? len : literal;
    bool is_empty = literal > 0 && strncmp(prefix, q->glob, common) != 0;
    if (literal > len && !q->is_flat) {
        prefix = q->glob;
        len = literal;
    }
    l->from = join(prefix, len, "", e);
    l->until = is_empty ? join("", 0, "", e) : behind(prefix, len, e);
    if (!l->from || !l->until)
        return -1;
    if (!q->after)
        return 0;
    char *later = begin_after(l, q->after, e);
    if (!later)
        return -1;
    if (strcmp(later, l->from) > 0) {
        free(l->from);
        l->from = later;
    } else {
        free(later);
    }
    return 0;
}

static bool is_wanted(const struct listing *l, const char *path)
{
    return !l->query->glob || glob_fits(l->query->glob, path);
}

/* Takes the row, or ends the list with it as the first that is not in it any more. 1: go on, 0: it
 * is full, -1. `next` is where to go on after the last row that was taken or passed over. */
static int offer(struct listing *l, struct file_row *row, struct err *e)
{
    if (!is_wanted(l, row->path)) {
        file_row_done(row);
        return 1;
    }
    return file_list_add(&l->found, row, e) ? -1 : 1;
}

static bool is_full(const struct listing *l)
{
    return l->found.count >= l->query->limit || l->looked_at >= LOOKED_AT_MAX;
}

static int set_next(struct listing *l, const char *text, size_t len, const char *more,
                    struct err *e)
{
    free(l->next);
    l->next = join(text, len, more, e);
    return l->next ? 0 : -1;
}

/* The trash's cursor, in the form of those of other lists. */
static int set_trash_next(struct listing *l, const struct sql_rows *rows, struct err *e)
{
    char cursor[CURSOR_SIZE];
    (void)snprintf(cursor, sizeof cursor, "%llx.%lld", (unsigned long long)sql_int(rows, 15),
                   (long long)sql_int(rows, 16));
    return set_next(l, cursor, strlen(cursor), "", e);
}

/* Rows of `rows` until the list is full. Afterwards `next` is set when there are more. */
static int fill(struct listing *l, struct sql_rows *rows, bool is_trash, struct err *e)
{
    int got;
    while ((got = sql_next(rows, e)) == 1) {
        if (is_full(l))
            return 0; /* and next stays */
        struct file_row row;
        if (file_rows_kind.read(rows, &row, e))
            return -1;
        if (is_trash ? set_trash_next(l, rows, e)
                     : set_next(l, row.path, strlen(row.path), "", e)) {
            file_row_done(&row);
            return -1;
        }
        l->looked_at++;
        if (offer(l, &row, e) < 0)
            return -1;
    }
    free(l->next);
    l->next = NULL;
    return got;
}

static int list_deep(struct listing *l, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(l->c, sql.from,
                  SQL_WITH(SQL_TEXT(l->workspace), SQL_TEXT(l->from), SQL_TEXT(l->until)), &rows,
                  e))
        return -1;
    return fill(l, &rows, /* is_trash= */ false, e);
}

static int list_trash(struct listing *l, struct err *e)
{
    struct page page = {.limit = l->query->limit, .cursor = l->query->after};
    struct mark mark;
    uint64_t number = INT64_MAX;
    if (mark_parse(&page, &mark, e))
        return -1;
    if (*mark.id && parse_u64(mark.id, 0, INT64_MAX, &number, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(
            l->c, sql.trash,
            SQL_WITH(SQL_TEXT(l->workspace), SQL_INT(mark.created_us), SQL_INT((int64_t)number)),
            &rows, e))
        return -1;
    return fill(l, &rows, /* is_trash= */ true, e);
}

/* ---- flat lists: one step in the index for every directory ---- */

static int add_dir(struct listing *l, const char *path, size_t len, struct err *e)
{
    struct file_row row = {.kind = FILE_DIR};
    (void)snprintf(row.workspace, sizeof row.workspace, "%s", l->workspace);
    scoped(freep) char *name = join(path, len, "", e);
    int64_t has_row;
    if (!name || sql_number(l->c, sql.has_row, SQL_WITH(SQL_TEXT(l->workspace), SQL_TEXT(name)),
                            &has_row, e))
        return -1;
    if (has_row) /* it was made as a directory and stood in the list as itself */
        return 0;
    if (file_row_named(&row, path, len, e))
        return -1;
    return offer(l, &row, e) < 0 ? -1 : 0;
}

/* What is at the beginning of the range: a file, or the directory in which it lies. Moves the range
 * behind it. */
static int take_first(struct listing *l, struct file_row *row, struct err *e)
{
    const char *slash = strchr(row->path + l->prefix_len, '/');
    size_t len = slash ? (size_t)(slash - row->path) : strlen(row->path);
    char *from = join(row->path, len, slash ? "0" : "\x01", e);
    int failed = !from || set_next(l, row->path, len, slash ? "/" : "", e) ? -1 : 0;
    if (!failed) {
        free(l->from);
        l->from = take(from);
        failed = slash ? add_dir(l, row->path, len, e) : offer(l, row, e) < 0 ? -1 : 0;
    }
    free(from);
    if (slash || failed)
        file_row_done(row);
    return failed;
}

static int list_flat(struct listing *l, struct err *e)
{
    for (;;) {
        struct file_row row;
        scoped(sql_rows_done) struct sql_rows rows = {0};
        if (sql_query(l->c, sql.from,
                      SQL_WITH(SQL_TEXT(l->workspace), SQL_TEXT(l->from), SQL_TEXT(l->until)),
                      &rows, e))
            return -1;
        int got = sql_next(&rows, e);
        if (got <= 0) {
            free(l->next);
            l->next = NULL;
            return got;
        }
        if (is_full(l))
            return 0;
        if (file_rows_kind.read(&rows, &row, e))
            return -1;
        l->looked_at++;
        sql_rows_done(&rows); /* the range it is bound to changes */
        if (take_first(l, &row, e))
            return -1;
    }
}

int meta_file_list(struct meta *m, const char *workspace, const struct file_query *query,
                   struct file_rows *ret, char **ret_next, struct err *e)
{
    assert(query->limit >= 1 && query->limit <= PAGE_MAX);
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(listing_done) struct listing l = {
        .c = c, .workspace = workspace, .query = query, .prefix_len = strlen(query->prefix)};
    if (query->state == FILE_TRASHED
            ? list_trash(&l, e)
            : set_range(&l, e) || (query->is_flat ? list_flat(&l, e) : list_deep(&l, e)))
        return -1;
    *ret = (struct file_rows){
        .items = l.found.items, .count = l.found.count, .has_more = l.next != NULL};
    *ret_next = take(l.next);
    l.found = (struct file_list){0};
    return 0;
}
