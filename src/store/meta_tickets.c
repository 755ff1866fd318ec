/* Tickets: see meta_tickets.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/meta_int.h"
#include "store/meta_tickets.h"

#define NUMBER "(SELECT number FROM workspaces WHERE id = ?1 AND deleted = 0)"
#define IS_OPEN "used = 0 AND revoked = 0 AND expires > "

static const struct {
    const char *insert, *count, *find, *list, *revoke, *use, *role, *join, *count_members, *ws,
        *owned, *name_taken, *own, *leave, *is_default, *end_claims;
} sql = {
#define COLUMNS                                                                                \
    "SELECT t.id, w.id, t.made_by, t.used_by, t.kind, t.sha256, t.role, t.name, t.created,"    \
    " t.expires, t.used, t.revoked FROM tickets AS t CROSS JOIN workspaces AS w ON w.number =" \
    " t.workspace AND w.deleted = 0 "
    .insert = "INSERT INTO tickets (workspace, id, kind, sha256, role, name, made_by, created,"
              " expires, used, revoked) VALUES (" NUMBER ", ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0)",
    .count =
        "SELECT count(*) FROM tickets WHERE workspace = " NUMBER " AND kind = ?2 AND " IS_OPEN "?3",
    .find = COLUMNS "WHERE t.sha256 = ?1 AND t.kind = ?2",
    .list =
        COLUMNS "WHERE t.workspace = (SELECT number FROM workspaces WHERE id = ?4) AND t.kind = ?5"
                " AND (t.created, t.id) < (?1, ?2) ORDER BY t.created DESC, t.id DESC LIMIT ?3",
    .revoke = "UPDATE tickets SET revoked = CASE revoked WHEN 0 THEN ?4 ELSE revoked END"
              " WHERE workspace = " NUMBER " AND id = ?2 AND kind = ?3 AND used = 0",
    .use =
        "UPDATE tickets SET used = ?2, used_by = ?3 WHERE id = ?1 AND kind = ?4 AND " IS_OPEN "?2",
    .role = "SELECT coalesce((SELECT role FROM members WHERE workspace = ?1 AND principal = ?2), 0)"
            " + 100 * (SELECT count(*) FROM workspaces WHERE number = ?1 AND owner = ?2)",
    .join = "INSERT INTO members (workspace, principal, role, added_by, created)"
            " VALUES (?1, ?2, ?3, ?4, ?5)"
            " ON CONFLICT (workspace, principal) DO UPDATE SET role = excluded.role",
    .count_members = "SELECT count(*) FROM members WHERE workspace = ?1 AND principal <> ?2",
    .ws = "SELECT t.workspace, t.role, t.made_by, w.owner, w.name FROM tickets AS t CROSS JOIN"
          " workspaces AS w ON w.number = t.workspace AND w.deleted = 0 WHERE t.id = ?1",
    .owned = "SELECT count(*) FROM workspaces WHERE owner = ?1 AND deleted = 0"
             " AND kind = 0",
    .name_taken = "SELECT count(*) FROM workspaces WHERE owner = ?1 AND name = ?2 AND deleted = 0",
    .own = "UPDATE workspaces SET owner = ?2, name = ?3 WHERE number = ?1",
    .leave = "DELETE FROM members WHERE workspace = ?1 AND principal = ?2",
    .is_default = "SELECT count(*) FROM principals AS p CROSS JOIN workspaces AS w ON w.number = ?1"
                  " WHERE p.id = w.owner AND p.workspace = w.id",
    .end_claims = "UPDATE tickets SET revoked = ?2 WHERE workspace = ?1 AND kind = 2 AND used = 0"
                  " AND revoked = 0",
#undef COLUMNS
};

/* ---- rows ---- */

static int read_ticket(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct ticket_row *r = ret;
    *r = (struct ticket_row){.kind = (enum ticket_kind)sql_int(rows, 4),
                             .role = (int)sql_int(rows, 6),
                             .created_us = sql_int(rows, 8),
                             .expires_us = sql_int(rows, 9),
                             .used_us = sql_int(rows, 10),
                             .revoked_us = sql_int(rows, 11)};
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->workspace);
    sql_id(rows, 2, r->made_by);
    sql_id(rows, 3, r->used_by);
    struct str hash = sql_text(rows, 5);
    if (hash.len != HASH_LEN)
        return err_set(e, ERR_DAMAGED, "ticket %s has no hash", r->id);
    memcpy(r->sha256, hash.ptr, HASH_LEN);
    struct text_slot texts[] = {{.to = &r->name, .from = sql_text(rows, 7)}};
    return texts_own(texts, 1, &r->owned, e);
}

void ticket_row_done(struct ticket_row *r)
{
    free(r->owned);
    *r = (struct ticket_row){0};
}

void ticket_rows_done(struct ticket_rows *l)
{
    for (size_t i = 0; i < l->count; i++)
        ticket_row_done(&l->items[i]);
    free(l->items);
    *l = (struct ticket_rows){0};
}

static void done_ticket(void *row)
{
    ticket_row_done(row);
}

static const struct row_kind ticket_row_kind = {
    .size = sizeof(struct ticket_row),
    .created_at = offsetof(struct ticket_row, created_us),
    .read = read_ticket,
    .done = done_ticket,
};

/* ---- making, finding ---- */

struct insert_job {
    const struct ticket_row *row;
    uint32_t max;
};

static int insert(struct db_conn *c, void *arg, struct err *e)
{
    const struct insert_job *j = arg;
    const struct ticket_row *t = j->row;
    int64_t count = 0;
    if (sql_number(c, sql.count,
                   SQL_WITH(SQL_TEXT(t->workspace), SQL_INT(t->kind), SQL_INT(t->created_us)),
                   &count, e))
        return -1;
    if (count >= j->max)
        return err_set(e, ERR_LIMIT,
                       "there are %u open ones already: revoke one, or wait until it ends", j->max);
    if (sql_run(c, sql.insert,
                SQL_WITH(SQL_TEXT(t->workspace), SQL_TEXT(t->id), SQL_INT(t->kind),
                         SQL_BYTES(t->sha256, HASH_LEN), SQL_INT(t->role),
                         SQL_TEXT(t->name ? t->name : ""), SQL_TEXT(t->made_by),
                         SQL_INT(t->created_us), SQL_INT(t->expires_us)),
                e))
        return -1;
    audit_tell(c, &(struct audit_subject){.object = t->id, .workspace = t->workspace});
    return 0;
}

int meta_ticket_insert(struct meta *m, const struct ticket_row *row, uint32_t max, struct err *e)
{
    struct insert_job j = {row, max};
    return db_write(m->db, insert, &j, e);
}

int meta_ticket_find(struct meta *m, enum ticket_kind kind, const uint8_t sha256[HASH_LEN],
                     struct ticket_row *ret, struct err *e)
{
    return row_get(m, &ticket_row_kind, sql.find,
                   SQL_WITH(SQL_BYTES(sha256, HASH_LEN), SQL_INT(kind)), ret, e);
}

int meta_ticket_list(struct meta *m, const char *workspace, enum ticket_kind kind,
                     const struct page *page, struct ticket_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e) ||
        row_list(m, &ticket_row_kind, sql.list,
                 SQL_WITH(PAGE_VALUES(mark, page), SQL_TEXT(workspace), SQL_INT(kind)), page->limit,
                 &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

struct revoke_job {
    const char *workspace, *id;
    enum ticket_kind kind;
    int64_t now_us;
};

static int revoke_ticket(struct db_conn *c, void *arg, struct err *e)
{
    const struct revoke_job *j = arg;
    if (sql_run(
            c, sql.revoke,
            SQL_WITH(SQL_TEXT(j->workspace), SQL_TEXT(j->id), SQL_INT(j->kind), SQL_INT(j->now_us)),
            e))
        return -1;
    return sql_changes(c) ? 0 : err_set(e, ERR_NOT_FOUND, "there is no open %.64s", j->id);
}

int meta_ticket_revoke(struct meta *m, const char *workspace, enum ticket_kind kind, const char *id,
                       int64_t now_us, struct err *e)
{
    struct revoke_job j = {workspace, id, kind, now_us};
    return db_write(m->db, revoke_ticket, &j, e);
}

/* ---- using ---- */

/* What the ticket is about. */
struct place {
    int64_t workspace;
    int role;
    char made_by[ID_SIZE], owner[ID_SIZE];
    char name[1024];
};

static int not_open(struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "this link was used, was revoked, or has expired");
}

static int find_place(struct db_conn *c, const char *id, struct place *ret, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.ws, SQL_WITH(SQL_TEXT(id)), &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got <= 0)
        return got < 0 ? -1 : not_open(e);
    ret->workspace = sql_int(&rows, 0);
    ret->role = (int)sql_int(&rows, 1);
    sql_id(&rows, 2, ret->made_by);
    sql_id(&rows, 3, ret->owner);
    struct str name = sql_text(&rows, 4);
    (void)snprintf(ret->name, sizeof ret->name, "%.*s", (int)name.len, name.ptr ? name.ptr : "");
    return 0;
}

static int mark_used(struct db_conn *c, const char *id, enum ticket_kind kind,
                     const char *principal, int64_t now_us, struct err *e)
{
    if (sql_run(c, sql.use,
                SQL_WITH(SQL_TEXT(id), SQL_INT(now_us), SQL_TEXT(principal), SQL_INT(kind)), e))
        return -1;
    return sql_changes(c) ? 0 : not_open(e);
}

static int join(struct db_conn *c, const struct invite_use *u, const struct place *p,
                const char *principal, struct err *e)
{
    int64_t role = 0, count = 0;
    const struct sql_value who[] = {SQL_INT(p->workspace), SQL_TEXT(principal)};
    if (sql_number(c, sql.role, who, 2, &role, e) ||
        sql_number(c, sql.count_members, who, 2, &count, e))
        return -1;
    if (role >= p->role)
        return 0;
    if (count >= u->members_max)
        return err_set(e, ERR_LIMIT, "the workspace has %u members already", u->members_max);
    return sql_run(
        c, sql.join,
        SQL_WITH(who[0], who[1], SQL_INT(p->role), SQL_ID(p->made_by), SQL_INT(u->now_us)), e);
}

static int make_person(struct db_conn *c, const struct invite_use *u, struct err *e)
{
    return principal_insert_both(c, u->fresh, u->workspace, u->principals_max, e) ||
                   login_insert(c, u->login, u->now_us, e)
               ? -1
               : 0;
}

/* Whose it was, and where: those who look after the workspace see who came. */
static int tell_used(struct db_conn *c, const struct place *p, const char *ticket,
                     const char *principal, struct err *e)
{
    static const char find[] = "SELECT id FROM workspaces WHERE number = ?1";
    char workspace[ID_SIZE];
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, find, SQL_WITH(SQL_INT(p->workspace)), &rows, e) || sql_next(&rows, e) < 0)
        return -1;
    sql_id(&rows, 0, workspace);
    audit_tell(c, &(struct audit_subject){
                      .object = ticket, .workspace = workspace, .signed_in = principal});
    return 0;
}

static int use_invite(struct db_conn *c, void *arg, struct err *e)
{
    const struct invite_use *u = arg;
    const char *principal = u->principal ? u->principal : u->fresh->id;
    struct place p;
    if (find_place(c, u->id, &p, e) ||
        mark_used(c, u->id, TICKET_INVITE, principal, u->now_us, e) ||
        (!u->principal && make_person(c, u, e)))
        return -1;
    return join(c, u, &p, principal, e) || tell_used(c, &p, u->id, principal, e) ? -1 : 0;
}

int meta_invite_use(struct meta *m, const struct invite_use *use, struct err *e)
{
    struct invite_use u = *use;
    return db_write(m->db, use_invite, &u, e);
}

/* A name that the new owner has not given yet: "reports", or "reports 2". */
static int free_name(struct db_conn *c, const char *owner, const char *name, char ret[1100],
                     struct err *e)
{
    int64_t taken = 1;
    for (unsigned i = 1; taken && i < 1000; i++) {
        (void)snprintf(ret, 1100, i > 1 ? "%s %u" : "%s", name, i);
        if (sql_number(c, sql.name_taken, SQL_WITH(SQL_TEXT(owner), SQL_TEXT(ret)), &taken, e))
            return -1;
    }
    return taken ? err_set(e, ERR_CONFLICT, "the new owner has too many of that name") : 0;
}

static int check_claim(struct db_conn *c, const struct claim_use *u, const struct place *p,
                       struct err *e)
{
    int64_t owned = 0, is_default = 0;
    if (strcmp(p->owner, u->principal) == 0)
        return err_set(e, ERR_CONFLICT, "the workspace is yours already");
    if (sql_number(c, sql.owned, SQL_WITH(SQL_TEXT(u->principal)), &owned, e) ||
        sql_number(c, sql.is_default, SQL_WITH(SQL_INT(p->workspace)), &is_default, e))
        return -1;
    if (is_default)
        return err_set(e, ERR_CONFLICT,
                       "it is the default workspace of who owns it, and stays theirs");
    if (owned >= u->workspaces_max)
        return err_set(e, ERR_LIMIT, "you have %u workspaces already; delete one first",
                       u->workspaces_max);
    return 0;
}

static int use_claim(struct db_conn *c, void *arg, struct err *e)
{
    const struct claim_use *u = arg;
    struct place p;
    char name[1100];
    if (find_place(c, u->id, &p, e) ||
        mark_used(c, u->id, TICKET_CLAIM, u->principal, u->now_us, e) || check_claim(c, u, &p, e) ||
        free_name(c, u->principal, p.name, name, e))
        return -1;
    const struct sql_value ws = SQL_INT(p.workspace);
    /* Those of the owner before are over: nobody takes it back. */
    if (sql_run(c, sql.end_claims, SQL_WITH(ws, SQL_INT(u->now_us)), e) ||
        sql_run(c, sql.own, SQL_WITH(ws, SQL_TEXT(u->principal), SQL_TEXT(name)), e) ||
        sql_run(c, sql.leave, SQL_WITH(ws, SQL_TEXT(u->principal)), e))
        return -1;
    if (sql_run(c, sql.join,
                SQL_WITH(ws, SQL_TEXT(p.owner), SQL_INT(u->admin_role), SQL_TEXT(u->principal),
                         SQL_INT(u->now_us)),
                e))
        return -1;
    return tell_used(c, &p, u->id, u->principal, e);
}

int meta_claim_use(struct meta *m, const struct claim_use *use, struct err *e)
{
    struct claim_use u = *use;
    return db_write(m->db, use_claim, &u, e);
}
