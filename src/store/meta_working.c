/* What is known of working copies: up to which revision, and which paths are the session's own. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/files_int.h"

static const struct {
    const char *paths, *base, *set_base, *forget, *forget_all, *copy_base, *copy_paths, *hold;
} sql = {
    .paths = "SELECT path, rev, aside FROM session_paths WHERE session = ?1 ORDER BY path",
    .base = "SELECT base FROM sessions WHERE id = ?1",
    .set_base = "UPDATE sessions SET base = ?2 WHERE id = ?1",
    .forget = "DELETE FROM session_paths WHERE session = ?1 AND path = ?2",
    .forget_all = "DELETE FROM session_paths WHERE session = ?1",
    .copy_base = "UPDATE sessions SET base = (SELECT base FROM sessions WHERE id = ?1)"
                 " WHERE id = ?2 AND EXISTS (SELECT 1 FROM sessions WHERE id = ?1)",
    .copy_paths = "INSERT INTO session_paths (session, path, rev, aside)"
                  " SELECT ?2, path, rev, aside FROM session_paths WHERE session = ?1",
    .hold = "INSERT INTO session_paths (session, path, rev) VALUES (?1, ?2, ?3)"
            " ON CONFLICT (session, path) DO UPDATE SET rev = ?3, aside = NULL",
};

void session_paths_done(struct session_paths *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].path);
        free(l->items[i].aside);
    }
    free(l->items);
    *l = (struct session_paths){0};
}

/* NULL when there is none; *failed when there is no memory. */
static char *text_of(const struct sql_rows *rows, int column, bool *failed)
{
    struct str text = sql_text(rows, column);
    char *copy = text.ptr ? strndup(text.ptr, text.len) : NULL;
    *failed |= text.ptr && !copy;
    return copy;
}

static int add_path(struct session_paths *l, size_t *cap, const struct sql_rows *rows,
                    struct err *e)
{
    if (l->count == *cap) {
        size_t wider = *cap ? 2 * *cap : 16;
        struct session_path *items = reallocarray(l->items, wider, sizeof *items);
        if (!items)
            return err_set(e, ERR_NO_MEMORY, "read the paths of a session");
        l->items = items;
        *cap = wider;
    }
    bool failed = false;
    struct session_path *p = &l->items[l->count++];
    p->path = text_of(rows, 0, &failed);
    p->rev = (uint64_t)sql_int(rows, 1);
    p->aside = text_of(rows, 2, &failed);
    return failed ? err_set(e, ERR_NO_MEMORY, "read the paths of a session") : 0;
}

int meta_session_paths(struct meta *m, const char *session, struct session_paths *ret,
                       struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    struct session_paths l = {0};
    size_t cap = 0;
    int got = sql_query(c, sql.paths, SQL_WITH(SQL_TEXT(session)), &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1)
        got = add_path(&l, &cap, &rows, e);
    if (got < 0) {
        session_paths_done(&l);
        return -1;
    }
    *ret = l;
    return 0;
}

static int read_base(const struct sql_rows *rows, void *ret, struct err *e)
{
    (void)e;
    *(uint64_t *)ret = (uint64_t)sql_int(rows, 0);
    return 0;
}

int meta_session_base(struct meta *m, const char *session, uint64_t *ret_rev, struct err *e)
{
    static const struct row_kind kind = {.read = read_base};
    return row_get(m, &kind, sql.base, SQL_WITH(SQL_TEXT(session)), ret_rev, e);
}

struct base_job {
    const char *session, *from;
    uint64_t rev;
    const char *const *paths;
    size_t count;
    bool is_all;
};

static int no_session(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no session %.64s", id);
}

static int set_base(struct db_conn *c, void *arg, struct err *e)
{
    const struct base_job *j = arg;
    struct sql_value id = SQL_TEXT(j->session);
    if (sql_run(c, sql.set_base, SQL_WITH(id, SQL_INT((int64_t)j->rev)), e))
        return -1;
    if (sql_changes(c) == 0)
        return no_session(j->session, e);
    if (j->is_all)
        return sql_run(c, sql.forget_all, SQL_WITH(id), e);
    for (size_t i = 0; i < j->count; i++)
        if (sql_run(c, sql.forget, SQL_WITH(id, SQL_TEXT(j->paths[i])), e))
            return -1;
    return 0;
}

int meta_session_set_base(struct meta *m, const char *session, uint64_t rev,
                          const char *const *paths, size_t count, bool is_all, struct err *e)
{
    struct base_job j = {
        .session = session, .rev = rev, .paths = paths, .count = count, .is_all = is_all};
    return meta_write_beside(m, set_base, &j, e);
}

static int hold(struct db_conn *c, void *arg, struct err *e)
{
    const struct base_job *j = arg;
    return sql_run(c, sql.hold,
                   SQL_WITH(SQL_TEXT(j->session), SQL_TEXT(*j->paths), SQL_INT((int64_t)j->rev)),
                   e);
}

int meta_session_hold(struct meta *m, const char *session, const char *path, uint64_t rev,
                      struct err *e)
{
    struct base_job j = {.session = session, .rev = rev, .paths = &path, .count = 1};
    return meta_write_beside(m, hold, &j, e);
}

static int copy_base(struct db_conn *c, void *arg, struct err *e)
{
    const struct base_job *j = arg;
    const struct sql_value both[] = {SQL_TEXT(j->from), SQL_TEXT(j->session)};
    if (sql_run(c, sql.copy_base, both, 2, e))
        return -1;
    if (sql_changes(c) == 0)
        return no_session(j->session, e);
    if (sql_run(c, sql.forget_all, SQL_WITH(SQL_TEXT(j->session)), e))
        return -1;
    return sql_run(c, sql.copy_paths, both, 2, e);
}

int meta_session_copy_base(struct meta *m, const char *from, const char *to, struct err *e)
{
    struct base_job j = {.session = to, .from = from};
    return meta_write_beside(m, copy_base, &j, e);
}
