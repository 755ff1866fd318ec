/* Workspaces: their rows; what is in them is the business of the other files of meta_files.h. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/audit.h"
#include "store/meta_files.h"
#include "store/meta_int.h"

static const struct {
    const char *add_vault, *insert, *count, *get, *find, *list, *list_of, *list_for, *name_taken,
        *update, *is_default, *open_sessions, *drop, *next_gone, *clear_versions, *clear_files,
        *clear_commits, *clear_uploads, *clear_shares, *clear_webhooks, *clear_members, *cleared;
} sql = {
#define COLUMNS                                                                            \
    "SELECT w.id, w.owner, v.name, w.name, w.created, w.deleted, w.rev, w.files, w.bytes," \
    " w.kept_bytes, w.files_max, w.bytes_max, w.intelligence, w.kind FROM workspaces AS w "
#define VAULT "CROSS JOIN vaults AS v ON v.number = w.vault "
#define KIND "AND (?4 < 0 OR w.kind = ?4) "
#define ORDER "AND (created, id) < (?1, ?2) ORDER BY created DESC, id DESC LIMIT ?3"
    .add_vault = "INSERT INTO vaults (name) VALUES (?1) ON CONFLICT (name) DO NOTHING",
    .insert =
        "INSERT INTO workspaces (id, owner, name, created, files_max, bytes_max, vault,"
        " number, kind) VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT number FROM vaults WHERE name ="
        " ?7), (SELECT coalesce(max(number), 0) + 1 FROM workspaces), ?8)",
    .count = "SELECT count(*) FROM workspaces INDEXED BY workspaces_kinds WHERE owner = ?1 AND"
             " deleted = 0 AND kind = ?2",
    .get = COLUMNS VAULT "WHERE w.id = ?1 AND w.deleted = 0",
    .find = COLUMNS "INDEXED BY workspaces_name " VAULT
                    "WHERE w.owner = ?1 AND w.name = ?2 AND w.deleted = 0",
    .list = COLUMNS "INDEXED BY workspaces_there " VAULT "WHERE w.deleted = 0 " KIND ORDER,
    .list_of = COLUMNS "INDEXED BY workspaces_of " VAULT
                       "WHERE w.owner = ?5 AND w.deleted = 0 " KIND ORDER,
    .list_for = COLUMNS VAULT
    "WHERE w.deleted = 0 AND w.number IN (SELECT number FROM workspaces INDEXED BY workspaces_of"
    " WHERE owner = ?5 AND deleted = 0 UNION SELECT workspace FROM members INDEXED BY members_of"
    " WHERE principal = ?5) " KIND ORDER,
    .name_taken = "SELECT count(*) FROM workspaces WHERE owner = ?1 AND name = ?2 AND deleted = 0"
                  " AND id <> ?3",
    .update = "UPDATE workspaces SET name = coalesce(?2, name),"
              " files_max = CASE WHEN ?3 < 0 THEN files_max ELSE ?3 END,"
              " bytes_max = CASE WHEN ?4 < 0 THEN bytes_max ELSE ?4 END,"
              " intelligence = CASE ?5 WHEN 0 THEN intelligence ELSE ?5 > 0 END"
              " WHERE id = ?1 AND deleted = 0",
    .is_default = "SELECT count(*) FROM workspaces AS w JOIN principals AS p ON p.id = w.owner"
                  " WHERE w.id = ?1 AND p.workspace = w.id",
    .open_sessions = "SELECT count(*) FROM sessions INDEXED BY sessions_workspace"
                     " WHERE workspace = ?1 AND closed = 0",
    .drop = "UPDATE workspaces SET deleted = ?2 WHERE id = ?1 AND deleted = 0",
    .next_gone = "SELECT number FROM workspaces INDEXED BY workspaces_deleted"
                 " WHERE deleted > 0 AND rev >= 0 LIMIT 1",
    .clear_versions = "DELETE FROM versions WHERE (file, version) IN (SELECT file, version"
                      " FROM versions INDEXED BY versions_rev WHERE workspace = ?1 LIMIT ?2)",
    .clear_files = "DELETE FROM files WHERE number IN (SELECT number FROM files"
                   " INDEXED BY files_rev WHERE workspace = ?1 LIMIT ?2)",
    .clear_commits = "DELETE FROM commits WHERE (workspace, rev) IN (SELECT workspace, rev"
                     " FROM commits WHERE workspace = ?1 LIMIT ?2)",
    .clear_uploads = "DELETE FROM uploads WHERE workspace ="
                     " (SELECT id FROM workspaces WHERE number = ?1)",
    .clear_shares = "DELETE FROM shares WHERE workspace = ?1",
    .clear_webhooks = "DELETE FROM webhooks WHERE workspace ="
                      " (SELECT id FROM workspaces WHERE number = ?1)",
    .clear_members = "DELETE FROM members WHERE workspace = ?1",
    .cleared = "UPDATE workspaces SET rev = -1, files = 0, bytes = 0, kept_bytes = 0"
               " WHERE number = ?1",
#undef COLUMNS
};

static int read_workspace(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct workspace_row *r = ret;
    *r = (struct workspace_row){
        .created_us = sql_int(rows, 4),
        .deleted_us = sql_int(rows, 5),
        .rev = (uint64_t)sql_int(rows, 6),
        .files = (uint64_t)sql_int(rows, 7),
        .bytes = (uint64_t)sql_int(rows, 8),
        .kept_bytes = (uint64_t)sql_int(rows, 9),
        .files_max = (uint64_t)sql_int(rows, 10),
        .bytes_max = (uint64_t)sql_int(rows, 11),
        .has_intelligence = sql_int(rows, 12) != 0,
        .kind = (enum workspace_kind)sql_int(rows, 13),
    };
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->owner);
    sql_id(rows, 2, r->vault);
    struct text_slot texts[] = {{.to = &r->name, .from = sql_text(rows, 3)}};
    return texts_own(texts, 1, &r->owned, e);
}

static void done_workspace(void *row)
{
    workspace_row_done(row);
}

static const struct row_kind workspace_kind = {
    .size = sizeof(struct workspace_row),
    .created_at = offsetof(struct workspace_row, created_us),
    .read = read_workspace,
    .done = done_workspace,
};

static int check_name(struct db_conn *c, const char *owner, const char *name, const char *id,
                      struct err *e)
{
    int64_t taken = 0;
    if (sql_number(c, sql.name_taken, SQL_WITH(SQL_TEXT(owner), SQL_TEXT(name), SQL_TEXT(id)),
                   &taken, e))
        return -1;
    return taken ? err_set(e, ERR_CONFLICT,
                           "a workspace is called '%.100s' already: use it, or choose another name",
                           name)
                 : 0;
}

int workspace_insert(struct db_conn *c, void *arg, struct err *e)
{
    const struct workspace_row *w = arg;
    const char *vault = *w->vault ? w->vault : w->owner;
    const char *name = w->name ? w->name : "";
    if (check_name(c, w->owner, name, w->id, e) ||
        sql_run(c, sql.add_vault, SQL_WITH(SQL_TEXT(vault)), e))
        return -1;
    if (sql_run(c, sql.insert,
                SQL_WITH(SQL_TEXT(w->id), SQL_TEXT(w->owner), SQL_TEXT(name),
                         SQL_INT(w->created_us), SQL_INT((int64_t)w->files_max),
                         SQL_INT((int64_t)w->bytes_max), SQL_TEXT(vault), SQL_INT(w->kind)),
                e))
        return -1;
    audit_tell(c, &(struct audit_subject){.workspace = w->id});
    return 0;
}

int meta_workspace_insert(struct meta *m, const struct workspace_row *row, struct err *e)
{
    struct workspace_row w = *row;
    return db_write(m->db, workspace_insert, &w, e);
}

int meta_workspace_get(struct meta *m, const char *id, struct workspace_row *ret, struct err *e)
{
    return row_get(m, &workspace_kind, sql.get, SQL_WITH(SQL_TEXT(id)), ret, e);
}

int meta_workspace_find(struct meta *m, const char *owner, const char *name,
                        struct workspace_row *ret, struct err *e)
{
    return row_get(m, &workspace_kind, sql.find, SQL_WITH(SQL_TEXT(owner), SQL_TEXT(name)), ret, e);
}

int meta_workspace_list(struct meta *m, const char *owner, enum workspace_kind kind,
                        const struct page *page, struct workspace_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e))
        return -1;
    const struct sql_value values[] = {PAGE_VALUES(mark, page), SQL_INT(kind), SQL_TEXT(owner)};
    if (row_list(m, &workspace_kind, owner ? sql.list_of : sql.list, values, owner ? 5 : 4,
                 page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

int meta_workspace_list_for(struct meta *m, const char *principal, enum workspace_kind kind,
                            const struct page *page, struct workspace_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e) ||
        row_list(m, &workspace_kind, sql.list_for,
                 SQL_WITH(PAGE_VALUES(mark, page), SQL_INT(kind), SQL_TEXT(principal)), page->limit,
                 &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

int meta_workspace_count(struct meta *m, const char *owner, enum workspace_kind kind, uint64_t *ret,
                         struct err *e)
{
    int64_t count;
    if (meta_number(m, sql.count, SQL_WITH(SQL_TEXT(owner), SQL_INT(kind)), &count, e))
        return -1;
    *ret = (uint64_t)count;
    return 0;
}

/* ---- changing ---- */

struct change_job {
    const char *id;
    const struct workspace_change *change;
    char owner[ID_SIZE];
};

static int64_t quota(uint64_t max)
{
    return max == UINT64_MAX ? -1 : (int64_t)(max & INT64_MAX);
}

static int update_workspace(struct db_conn *c, void *arg, struct err *e)
{
    const struct change_job *j = arg;
    const struct workspace_change *w = j->change;
    if (w->name && check_name(c, j->owner, w->name, j->id, e))
        return -1;
    if (sql_run(c, sql.update,
                SQL_WITH(SQL_TEXT(j->id), SQL_TEXT(w->name), SQL_INT(quota(w->files_max)),
                         SQL_INT(quota(w->bytes_max)), SQL_INT(w->intelligence)),
                e))
        return -1;
    return sql_changes(c) > 0 ? 0 : err_set(e, ERR_NOT_FOUND, "there is no workspace %s", j->id);
}

int meta_workspace_update(struct meta *m, const char *id, const struct workspace_change *change,
                          struct err *e)
{
    struct workspace_row row; /* its owner is always the same */
    if (meta_workspace_get(m, id, &row, e))
        return -1;
    struct change_job j = {.id = id, .change = change};
    memcpy(j.owner, row.owner, sizeof j.owner);
    workspace_row_done(&row);
    return db_write(m->db, update_workspace, &j, e);
}

/* ---- deleting ---- */

struct drop_job {
    const char *id;
    int64_t now_us;
};

static int drop_workspace(struct db_conn *c, void *arg, struct err *e)
{
    const struct drop_job *j = arg;
    int64_t is_default, open;
    if (sql_number(c, sql.is_default, SQL_WITH(SQL_TEXT(j->id)), &is_default, e) ||
        sql_number(c, sql.open_sessions, SQL_WITH(SQL_TEXT(j->id)), &open, e))
        return -1;
    if (is_default)
        return err_set(e, ERR_CONFLICT, "it is the default workspace of its owner and stays");
    if (open)
        return err_set(e, ERR_CONFLICT, "%lld sessions are open in it: close them first",
                       (long long)open);
    if (sql_run(c, sql.drop, SQL_WITH(SQL_TEXT(j->id), SQL_INT(j->now_us)), e))
        return -1;
    return sql_changes(c) > 0 ? 0 : err_set(e, ERR_NOT_FOUND, "there is no workspace %s", j->id);
}

int meta_workspace_delete(struct meta *m, const char *id, int64_t now_us, struct err *e)
{
    struct drop_job j = {.id = id, .now_us = now_us > 0 ? now_us : 1};
    return db_write(m->db, drop_workspace, &j, e);
}

struct clear_job {
    uint32_t limit;
    uint64_t count;
};

/* Of one deleted workspace, until the limit is reached; what is empty then is not looked at again. */
static int clear(struct db_conn *c, void *arg, struct err *e)
{
    struct clear_job *j = arg;
    j->count = 0;
    const char *const steps[] = {sql.clear_versions, sql.clear_files, sql.clear_commits};
    int64_t number;
    if (sql_number(c, sql.next_gone, SQL_NOTHING, &number, e))
        return -1;
    if (number == 0)
        return 0;
    for (size_t i = 0; i < 3 && j->count < j->limit; i++) {
        int64_t left = (int64_t)(j->limit - j->count);
        if (sql_run(c, steps[i], SQL_WITH(SQL_INT(number), SQL_INT(left)), e))
            return -1;
        j->count += sql_changes(c);
    }
    if (j->count >= j->limit)
        return 0;
    j->count++; /* the workspace itself: there may be another */
    if (sql_run(c, sql.clear_uploads, SQL_WITH(SQL_INT(number)), e) ||
        sql_run(c, sql.clear_shares, SQL_WITH(SQL_INT(number)), e) ||
        sql_run(c, sql.clear_webhooks, SQL_WITH(SQL_INT(number)), e) ||
        sql_run(c, sql.clear_members, SQL_WITH(SQL_INT(number)), e))
        return -1;
    return sql_run(c, sql.cleared, SQL_WITH(SQL_INT(number)), e);
}

int meta_workspace_clear(struct meta *m, uint32_t limit, uint64_t *ret_count, struct err *e)
{
    struct clear_job j = {.limit = limit};
    if (db_write(m->db, clear, &j, e))
        return -1;
    *ret_count = j.count;
    return 0;
}
