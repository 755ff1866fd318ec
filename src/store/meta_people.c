/* Principals, and what the server remembers about itself. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/meta_int.h"

static const struct {
    const char *insert, *get, *find_external, *count, *count_of, *list, *list_top, *list_of, *quota,
        *disable, *disabled;
} principal_sql = {
#define COLUMNS                                                                         \
    "SELECT id, kind, name, parent, external, workspace, created, bytes_max, disabled " \
    "FROM principals "
#define ORDER "AND (created, id) < (?1, ?2) ORDER BY created DESC, id DESC LIMIT ?3"
    .insert = "INSERT INTO principals (id, kind, name, parent, external, workspace, created) "
              "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    .get = COLUMNS "WHERE id = ?1",
    .find_external = COLUMNS "WHERE parent = ?1 AND external = ?2",
    .count = "SELECT count(*) FROM principals",
    .count_of = "SELECT count(*) FROM principals WHERE parent = ?1",
    .list = COLUMNS "WHERE true " ORDER,
    .list_top = COLUMNS "INDEXED BY principals_parent WHERE parent IS NULL " ORDER,
    .list_of = COLUMNS "INDEXED BY principals_parent WHERE parent = ?4 " ORDER,
    .quota = "UPDATE principals SET bytes_max = ?2 WHERE id = ?1",
    .disable = "UPDATE principals SET disabled = CASE WHEN ?2 > 0 AND disabled > 0 THEN disabled "
               "ELSE ?2 END WHERE id = ?1",
    .disabled = "SELECT id FROM principals WHERE disabled > 0",
#undef COLUMNS
};

static const struct {
    const char *set, *get;
} setting_sql = {
    .set = "INSERT INTO settings (name, value) VALUES (?1, ?2)"
           " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    .get = "SELECT value FROM settings WHERE name = ?1",
};

static int read_principal(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct principal_row *r = ret;
    *r = (struct principal_row){.kind = (enum principal_kind)sql_int(rows, 1),
                                .created_us = sql_int(rows, 6),
                                .bytes_max = (uint64_t)sql_int(rows, 7),
                                .disabled_us = sql_int(rows, 8)};
    sql_id(rows, 0, r->id);
    sql_id(rows, 3, r->parent);
    sql_id(rows, 5, r->workspace);
    struct text_slot texts[] = {{.to = &r->name, .from = sql_text(rows, 2)},
                                {.to = &r->external, .from = sql_text(rows, 4)}};
    return texts_own(texts, 2, &r->owned, e);
}

static void done_principal(void *row)
{
    principal_row_done(row);
}

static const struct row_kind principal_kind = {
    .size = sizeof(struct principal_row),
    .created_at = offsetof(struct principal_row, created_us),
    .read = read_principal,
    .done = done_principal,
};

struct both {
    const struct principal_row *principal;
    struct workspace_row workspace;
    uint64_t max;
};

static int check_count(struct db_conn *c, const struct both *b, struct err *e)
{
    const char *parent = b->principal->parent;
    int64_t count;
    if (*parent ? sql_number(c, principal_sql.count_of, SQL_WITH(SQL_TEXT(parent)), &count, e)
                : sql_number(c, principal_sql.count, SQL_NOTHING, &count, e))
        return -1;
    if ((uint64_t)count >= b->max)
        return err_set(e, ERR_LIMIT, "there are %lld principals already", (long long)count);
    return 0;
}

static int insert_both(struct db_conn *c, void *arg, struct err *e)
{
    struct both *b = arg;
    const struct principal_row *p = b->principal;
    if (check_count(c, b, e) ||
        sql_run(c, principal_sql.insert,
                SQL_WITH(SQL_TEXT(p->id), SQL_INT(p->kind), SQL_TEXT(p->name ? p->name : ""),
                         SQL_ID(p->parent), SQL_TEXT(p->external), SQL_TEXT(p->workspace),
                         SQL_INT(p->created_us)),
                e))
        return -1;
    audit_tell(c, &(struct audit_subject){.object = p->id});
    return workspace_insert(c, &b->workspace, e);
}

int principal_insert_both(struct db_conn *c, const struct principal_row *principal,
                          const struct workspace_row *workspace, uint64_t max, struct err *e)
{
    struct both b = {.principal = principal, .workspace = *workspace, .max = max};
    return insert_both(c, &b, e);
}

int meta_principal_insert(struct meta *m, const struct principal_row *row,
                          const struct workspace_row *workspace, uint64_t max, struct err *e)
{
    struct both b = {.principal = row, .workspace = *workspace, .max = max};
    return db_write(m->db, insert_both, &b, e);
}

int meta_principal_get(struct meta *m, const char *id, struct principal_row *ret, struct err *e)
{
    return row_get(m, &principal_kind, principal_sql.get, SQL_WITH(SQL_TEXT(id)), ret, e);
}

int meta_principal_find_external(struct meta *m, const char *parent, const char *external,
                                 struct principal_row *ret, struct err *e)
{
    return row_get(m, &principal_kind, principal_sql.find_external,
                   SQL_WITH(SQL_TEXT(parent), SQL_TEXT(external)), ret, e);
}

int meta_principal_count(struct meta *m, const char *parent, uint64_t *ret, struct err *e)
{
    int64_t count;
    int failed = parent
                     ? meta_number(m, principal_sql.count_of, SQL_WITH(SQL_TEXT(parent)), &count, e)
                     : meta_number(m, principal_sql.count, SQL_NOTHING, &count, e);
    if (!failed)
        *ret = (uint64_t)count;
    return failed;
}

int meta_principal_list(struct meta *m, const struct principal_filter *filter,
                        const struct page *page, struct principal_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e))
        return -1;
    const struct sql_value values[] = {PAGE_VALUES(mark, page), SQL_TEXT(filter->parent)};
    const char *sql = !filter->parent   ? principal_sql.list
                      : *filter->parent ? principal_sql.list_of
                                        : principal_sql.list_top;
    size_t count = sql == principal_sql.list_of ? 4 : 3;
    if (row_list(m, &principal_kind, sql, values, count, page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

struct quota_job {
    const char *id;
    uint64_t bytes_max;
};

static int set_quota(struct db_conn *c, void *arg, struct err *e)
{
    const struct quota_job *j = arg;
    if (sql_run(c, principal_sql.quota, SQL_WITH(SQL_TEXT(j->id), SQL_INT((int64_t)j->bytes_max)),
                e))
        return -1;
    return sql_changes(c) ? 0 : err_set(e, ERR_NOT_FOUND, "there is no principal %s", j->id);
}

int meta_principal_quota(struct meta *m, const char *id, uint64_t bytes_max, struct err *e)
{
    struct quota_job j = {id, bytes_max};
    return db_write(m->db, set_quota, &j, e);
}

struct disable_job {
    const char *id;
    int64_t disabled_us;
};

static int set_disabled(struct db_conn *c, void *arg, struct err *e)
{
    const struct disable_job *j = arg;
    if (sql_run(c, principal_sql.disable, SQL_WITH(SQL_TEXT(j->id), SQL_INT(j->disabled_us)), e))
        return -1;
    return sql_changes(c) ? 0 : err_set(e, ERR_NOT_FOUND, "there is no principal %s", j->id);
}

int meta_principal_disable(struct meta *m, const char *id, int64_t disabled_us, struct err *e)
{
    struct disable_job j = {id, disabled_us};
    return db_write(m->db, set_disabled, &j, e);
}

int meta_principals_disabled(struct meta *m, int (*put)(void *arg, const char *id, struct err *e),
                             void *arg, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (db_read_begin(m->db, &c, e))
        return -1;
    int got = sql_query(c, principal_sql.disabled, SQL_NOTHING, &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1) {
        char id[ID_SIZE];
        sql_id(&rows, 0, id);
        got = put(arg, id, e);
    }
    return got;
}

/* ---- settings ---- */

struct setting {
    const char *name, *value;
};

static int set_setting(struct db_conn *c, void *arg, struct err *e)
{
    const struct setting *s = arg;
    return sql_run(c, setting_sql.set, SQL_WITH(SQL_TEXT(s->name), SQL_TEXT(s->value)), e);
}

int meta_setting_set(struct meta *m, const char *name, const char *id, struct err *e)
{
    struct setting s = {name, id};
    return db_write(m->db, set_setting, &s, e);
}

static int read_setting(const struct sql_rows *rows, void *ret, struct err *e)
{
    (void)e;
    sql_id(rows, 0, ret);
    return 0;
}

int meta_setting_get(struct meta *m, const char *name, char ret[ID_SIZE], struct err *e)
{
    static const struct row_kind kind = {.read = read_setting};
    return row_get(m, &kind, setting_sql.get, SQL_WITH(SQL_TEXT(name)), ret, e);
}
