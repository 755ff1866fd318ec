/* Members of workspaces. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/meta_int.h"
#include "store/meta_members.h"

#define NUMBER "(SELECT number FROM workspaces WHERE id = ?1 AND deleted = 0)"

static const struct {
    const char *role, *there, *is_owner, *count, *set, *remove, *list, *end_tickets;
} sql = {
    .role = "SELECT role FROM members WHERE workspace = " NUMBER " AND principal = ?2",
    .there = "SELECT (SELECT count(*) FROM workspaces WHERE id = ?1 AND deleted = 0)"
             " * (SELECT count(*) FROM principals WHERE id = ?2)",
    .is_owner = "SELECT count(*) FROM workspaces WHERE id = ?1 AND owner = ?2 AND deleted = 0",
    .count = "SELECT count(*) FROM members WHERE workspace = " NUMBER " AND principal <> ?2",
    .set = "INSERT INTO members (workspace, principal, role, added_by, created)"
           " VALUES (" NUMBER ", ?2, ?3, ?4, ?5)"
           " ON CONFLICT (workspace, principal) DO UPDATE SET role = excluded.role",
    .remove = "DELETE FROM members WHERE workspace = " NUMBER " AND principal = ?2",
    .list = "SELECT m.principal, m.added_by, p.name, p.kind, m.role, m.created FROM members AS m"
            " CROSS JOIN principals AS p ON p.id = m.principal WHERE m.workspace = " NUMBER
            " ORDER BY m.created, m.principal",
    .end_tickets = "UPDATE tickets SET revoked = ?3 WHERE workspace = " NUMBER
                   " AND made_by = ?2 AND used = 0 AND revoked = 0",
};

static int read_member(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct member_row *r = ret;
    *r = (struct member_row){.kind = (enum principal_kind)sql_int(rows, 3),
                             .role = (int)sql_int(rows, 4),
                             .created_us = sql_int(rows, 5)};
    sql_id(rows, 0, r->principal);
    sql_id(rows, 1, r->added_by);
    struct text_slot texts[] = {{.to = &r->name, .from = sql_text(rows, 2)}};
    return texts_own(texts, 1, &r->owned, e);
}

static void done_member(void *row)
{
    struct member_row *r = row;
    free(r->owned);
    r->owned = NULL;
}

static const struct row_kind member_kind = {
    .size = sizeof(struct member_row),
    .created_at = offsetof(struct member_row, created_us),
    .read = read_member,
    .done = done_member,
};

void member_rows_done(struct member_rows *l)
{
    for (size_t i = 0; i < l->count; i++)
        done_member(&l->items[i]);
    free(l->items);
    *l = (struct member_rows){0};
}

int meta_member_role(struct meta *m, const char *workspace, const char *principal, int *ret,
                     struct err *e)
{
    int64_t role = 0;
    if (meta_number(m, sql.role, SQL_WITH(SQL_TEXT(workspace), SQL_TEXT(principal)), &role, e))
        return -1;
    *ret = (int)role;
    return 0;
}

struct set_job {
    const char *workspace;
    const struct member_row *row;
    uint32_t max;
};

/* Invitations of somebody who loses a role are over: they would lead back to it. */
static int end_tickets(struct db_conn *c, const char *workspace, const char *principal,
                       struct err *e)
{
    return sql_run(c, sql.end_tickets,
                   SQL_WITH(SQL_TEXT(workspace), SQL_TEXT(principal), SQL_INT(clock_wall_us())), e);
}

static int set(struct db_conn *c, void *arg, struct err *e)
{
    const struct set_job *j = arg;
    const struct sql_value who[] = {SQL_TEXT(j->workspace), SQL_TEXT(j->row->principal)};
    int64_t there = 0, owns = 0, count = 0, before = 0;
    if (sql_number(c, sql.role, who, 2, &before, e) ||
        sql_number(c, sql.there, who, 2, &there, e) ||
        sql_number(c, sql.is_owner, who, 2, &owns, e) ||
        sql_number(c, sql.count, who, 2, &count, e))
        return -1;
    if (!there)
        return err_set(e, ERR_NOT_FOUND, "there is no principal %s", j->row->principal);
    if (owns)
        return err_set(e, ERR_CONFLICT, "the owner has every right already");
    if (count >= j->max)
        return err_set(e, ERR_LIMIT, "the workspace has %u members; remove one first", j->max);
    if (j->row->role < before && end_tickets(c, j->workspace, j->row->principal, e))
        return -1;
    return sql_run(c, sql.set,
                   SQL_WITH(who[0], who[1], SQL_INT(j->row->role), SQL_ID(j->row->added_by),
                            SQL_INT(j->row->created_us)),
                   e);
}

int meta_member_set(struct meta *m, const char *workspace, const struct member_row *row,
                    uint32_t max, struct err *e)
{
    struct set_job j = {workspace, row, max};
    return db_write(m->db, set, &j, e);
}

struct remove_job {
    const char *workspace, *principal;
};

static int remove_member(struct db_conn *c, void *arg, struct err *e)
{
    const struct remove_job *j = arg;
    if (sql_run(c, sql.remove, SQL_WITH(SQL_TEXT(j->workspace), SQL_TEXT(j->principal)), e))
        return -1;
    if (sql_changes(c) == 0)
        return err_set(e, ERR_NOT_FOUND, "%s is no member", j->principal);
    return end_tickets(c, j->workspace, j->principal, e);
}

int meta_member_remove(struct meta *m, const char *workspace, const char *principal, struct err *e)
{
    struct remove_job j = {workspace, principal};
    return db_write(m->db, remove_member, &j, e);
}

int meta_member_list(struct meta *m, const char *workspace, struct member_rows *ret, struct err *e)
{
    struct row_list l;
    if (row_list(m, &member_kind, sql.list, SQL_WITH(SQL_TEXT(workspace)), INT32_MAX, &l, e))
        return -1;
    *ret = (struct member_rows){.items = l.items, .count = l.count};
    return 0;
}
