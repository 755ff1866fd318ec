#include "store/text_vectors.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/text_index_int.h"

/* `done` of a workspace: chunks up to that number have a vector, or need none. Numbers of chunks are never
 * used again. */
static const struct {
    const char *wanted, *want, *drop, *no_more;
    const char *waiting, *unread, *last, *put, *set_done, *count, *any, *scan, *scan_filtered;
} sql = {
    .wanted =
        "SELECT m.model, m.dim FROM meanings AS m JOIN workspaces AS w ON w.number = m.workspace"
        " WHERE w.id = ?1",
    .want = "INSERT OR REPLACE INTO meanings (workspace, model, dim, done)"
            " SELECT w.number, ?2, ?3, 0 FROM workspaces AS w WHERE w.id = ?1",
    .drop = "DELETE FROM vectors WHERE workspace = (SELECT number FROM workspaces WHERE id = ?1)",
    .no_more =
        "DELETE FROM meanings WHERE workspace = (SELECT number FROM workspaces WHERE id = ?1)",
    .waiting = "SELECT workspace, done FROM meanings WHERE model = ?1 AND dim = ?2"
               " AND done < (SELECT ifnull(max(number), 0) FROM chunks) LIMIT 1",
    .unread = "SELECT c.number, c.doc, t.body FROM chunks AS c JOIN docs AS d ON d.number = c.doc"
              " JOIN texts AS t ON t.number = c.number"
              " WHERE c.number > ?2 AND d.workspace = ?1 AND d.kind = 0 ORDER BY c.number LIMIT ?3",
    .last = "SELECT ifnull(max(number), 0) FROM chunks",
    .put = "INSERT OR REPLACE INTO vectors (workspace, chunk, doc, vector)"
           " SELECT d.workspace, c.number, c.doc, ?4 FROM chunks AS c JOIN docs AS d"
           " ON d.number = c.doc WHERE c.number = ?2 AND c.doc = ?3 AND d.workspace = ?1",
    .set_done = "UPDATE meanings SET done = ?2 WHERE workspace = ?1 AND done < ?2",
    .count = "SELECT count(*) FROM vectors AS v JOIN workspaces AS w ON w.number = v.workspace"
             " WHERE w.id = ?1",
    .any = "SELECT count(*) FROM meanings WHERE model = ?1 AND dim = ?2"
           " AND workspace IN (SELECT value FROM json_each(?3))",
#define SEEN                                                       \
    " WHERE v.workspace IN (SELECT m.workspace FROM meanings AS m" \
    " WHERE m.model = ?1 AND m.dim = ?2 AND m.workspace IN (SELECT value FROM json_each(?3)))"
    .scan = "SELECT v.doc, v.chunk, v.vector FROM vectors AS v" SEEN,
    .scan_filtered = "SELECT v.doc, v.chunk, v.vector FROM vectors AS v"
                     " CROSS JOIN docs AS d ON d.number = v.doc" SEEN
                     " AND (?4 IS NULL OR substr(d.path, 1, length(?4)) = ?4)"
                     " AND (?5 IS NULL OR path_fits(?5, d.path))"
                     " AND (?6 IS NULL OR substr(d.mime, 1, length(?6)) = ?6)"
                     " AND (?7 IS NULL OR substr(lower(d.path), -length(?7)) = ?7)"
                     " AND d.changed >= ?8 AND d.changed < ?9",
};

/* ---- which workspaces ---- */

struct wanting {
    const char *workspace, *model;
    uint32_t dim;
};

static int change_wish(struct text_conn *c, void *arg, struct err *e)
{
    const struct wanting *w = arg;
    const struct sql_value id = SQL_TEXT(w->workspace);
    if (sql_run(c->db, sql.drop, &id, 1, e) || sql_run(c->db, sql.no_more, &id, 1, e))
        return -1;
    return w->model ? sql_run(c->db, sql.want, SQL_WITH(id, SQL_TEXT(w->model), SQL_INT(w->dim)), e)
                    : 0;
}

/* 1: it is as it is wanted. */
static int is_so(struct text_index *t, const struct wanting *w, struct err *e)
{
    struct text_conn *c;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (text_read_take(t, &c, e))
        return -1;
    int got = sql_query(c->db, sql.wanted, SQL_WITH(SQL_TEXT(w->workspace)), &rows, e)
                  ? -1
                  : sql_next(&rows, e);
    int same =
        got == 0 ? !w->model
                 : w->model && str_is(sql_text(&rows, 0), w->model) && sql_int(&rows, 1) == w->dim;
    sql_rows_done(&rows);
    text_read_give(t, c);
    return got < 0 ? -1 : same;
}

int text_vectors_want(struct text_index *t, const char *workspace, const char *model, uint32_t dim,
                      struct err *e)
{
    struct wanting w = {.workspace = workspace, .model = model, .dim = dim};
    int same = is_so(t, &w, e);
    if (same != 0)
        return same < 0 ? -1 : 0;
    return text_write(t, change_wish, &w, e);
}

/* ---- making them ---- */

void text_batch_done(struct text_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->items[i].text);
    *b = (struct text_batch){0};
}

static int take_item(const struct sql_rows *rows, struct text_batch *b, struct err *e)
{
    struct str body = sql_text(rows, 2);
    char *copy = malloc(body.len + 1);
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "look for what a text means");
    if (body.len)
        memcpy(copy, body.ptr, body.len);
    copy[body.len] = '\0';
    b->items[b->count].chunk = sql_int(rows, 0);
    b->items[b->count].doc = sql_int(rows, 1);
    b->items[b->count].text = copy;
    b->items[b->count++].len = body.len;
    return 0;
}

/* Chunks after `done`; *b knows its workspace. */
static int take_unread(struct text_conn *c, int64_t done, struct text_batch *b, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int64_t last;
    int got;
    if (sql_number(c->db, sql.last, SQL_NOTHING, &last, e) ||
        sql_query(c->db, sql.unread,
                  SQL_WITH(SQL_INT(b->workspace), SQL_INT(done), SQL_INT(TEXT_VECTORS_BATCH)),
                  &rows, e))
        return -1;
    while ((got = sql_next(&rows, e)) == 1)
        if (take_item(&rows, b, e))
            return -1;
    b->done = b->count == TEXT_VECTORS_BATCH ? b->items[b->count - 1].chunk : last;
    return got;
}

static int find_waiting(struct text_conn *c, const char *model, uint32_t dim, struct text_batch *b,
                        struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c->db, sql.waiting, SQL_WITH(SQL_TEXT(model), SQL_INT(dim)), &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got != 1)
        return got;
    int64_t done = sql_int(&rows, 1);
    b->workspace = sql_int(&rows, 0);
    sql_rows_done(&rows);
    return take_unread(c, done, b, e) ? -1 : 1;
}

int text_vectors_next(struct text_index *t, const char *model, uint32_t dim, struct text_batch *ret,
                      struct err *e)
{
    struct text_batch b = {0};
    struct text_conn *c;
    if (text_read_take(t, &c, e))
        return -1;
    int got = conn_exec(c->db, "BEGIN", e) ? -1 : find_waiting(c, model, dim, &b, e);
    struct err ignored = {0};
    if (!sqlite3_get_autocommit(c->db->sqlite))
        (void)conn_exec(c->db, "COMMIT", &ignored);
    text_read_give(t, c);
    if (got < 0)
        text_batch_done(&b);
    else
        *ret = b;
    return got;
}

struct putting {
    const struct text_batch *b;
    uint32_t dim;
    const int8_t *vectors;
};

static int put_batch(struct text_conn *c, void *arg, struct err *e)
{
    const struct putting *p = arg;
    const struct sql_value workspace = SQL_INT(p->b->workspace);
    for (size_t i = 0; i < p->b->count; i++)
        if (sql_run(c->db, sql.put,
                    SQL_WITH(workspace, SQL_INT(p->b->items[i].chunk), SQL_INT(p->b->items[i].doc),
                             SQL_BYTES(p->vectors + i * p->dim, p->dim)),
                    e))
            return -1;
    return sql_run(c->db, sql.set_done, SQL_WITH(workspace, SQL_INT(p->b->done)), e);
}

int text_vectors_put(struct text_index *t, const struct text_batch *b, uint32_t dim,
                     const int8_t *vectors, struct err *e)
{
    struct putting p = {.b = b, .dim = dim, .vectors = vectors};
    return text_write(t, put_batch, &p, e);
}

int text_vectors_count(struct text_index *t, const char *workspace, uint64_t *ret, struct err *e)
{
    struct text_conn *c;
    int64_t count = 0;
    if (text_read_take(t, &c, e))
        return -1;
    int failed = sql_number(c->db, sql.count, SQL_WITH(SQL_TEXT(workspace)), &count, e);
    text_read_give(t, c);
    *ret = (uint64_t)count;
    return failed;
}

/* ---- looking at them ---- */

int text_vectors_any(struct text_reader *r, const char *model, uint32_t dim, bool *ret,
                     struct err *e)
{
    int64_t count = 0;
    *ret = false;
    if (r->filter.kind == DOC_RUN || r->scope_count == 0)
        return 0;
    if (sql_number(r->c->db, sql.any,
                   SQL_WITH(SQL_TEXT(model), SQL_INT(dim), SQL_TEXT(r->numbers.bytes)), &count, e))
        return -1;
    *ret = count > 0;
    return 0;
}

static int start(struct text_reader *r, const char *model, uint32_t dim, struct sql_rows *ret,
                 struct err *e)
{
    const struct text_filter *f = &r->filter;
    const struct sql_value values[] = {
        SQL_TEXT(model),     SQL_INT(dim),         SQL_TEXT(r->numbers.bytes),
        SQL_TEXT(f->prefix), SQL_TEXT(f->glob),    SQL_TEXT(f->mime),
        SQL_TEXT(f->suffix), SQL_INT(f->after_us), SQL_INT(f->before_us ? f->before_us : INT64_MAX),
    };
    bool is_filtered = f->prefix || f->glob || f->mime || f->suffix || f->after_us || f->before_us;
    return is_filtered ? sql_query(r->c->db, sql.scan_filtered, values, 9, ret, e)
                       : sql_query(r->c->db, sql.scan, values, 3, ret, e);
}

int text_vectors_scan(struct text_reader *r, const char *model, uint32_t dim,
                      int (*put)(void *arg, int64_t doc, int64_t chunk, const int8_t *vector),
                      void *arg, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got;
    if (start(r, model, dim, &rows, e))
        return -1;
    while ((got = sql_next(&rows, e)) == 1) {
        struct str vector = sql_text(&rows, 2);
        if (vector.len != dim) /* of another time: it will be made anew */
            continue;
        int ended = put(arg, sql_int(&rows, 0), sql_int(&rows, 1), (const int8_t *)vector.ptr);
        if (ended)
            return ended;
    }
    return got;
}
