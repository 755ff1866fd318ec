#include "store/meta_shares.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/audit.h"
#include "store/meta_int.h"

static const struct {
    const char *count, *pinned, *insert, *get, *find, *list, *update, *revoke, *is_there, *download,
        *seen, *uploaded, *prune;
} sql = {
#define COLUMNS                                                                                   \
    "SELECT s.id, w.id, s.sha256, s.path, s.is_folder, s.file, s.version, s.rights, s.password, " \
    " s.note, s.max_downloads, s.views, s.downloads, s.uploads, s.made_by, s.is_by_server,"       \
    " s.created, s.expires, s.used, s.revoked FROM shares AS s "
#define ALIVE "JOIN workspaces AS w ON w.number = s.workspace AND w.deleted = 0 "
#define OF_ID \
    "id = ?2 AND workspace = (SELECT number FROM workspaces WHERE id = ?1 AND deleted = 0)"
    .count = "SELECT count(*) FROM shares AS s " ALIVE "WHERE w.id = ?1 AND s.revoked = 0"
             " AND (s.expires = 0 OR s.expires > ?2)",
    .pinned = "SELECT count(*) FROM files AS f JOIN workspaces AS w ON w.number = f.workspace"
              " JOIN versions AS v ON v.file = f.number WHERE f.id = ?1 AND v.version = ?2"
              " AND w.id = ?3 AND v.sha256 IS NOT NULL",
    .insert = "INSERT INTO shares (id, sha256, workspace, path, is_folder, file, version, rights,"
              " password, note, max_downloads, views, downloads, uploads, made_by, is_by_server,"
              " created, expires, used, revoked) SELECT ?1, ?2, w.number, ?4, ?5, ?6, ?7, ?8, ?9,"
              " ?10, ?11, 0, 0, 0, ?12, ?13, ?14, ?15, 0, 0 FROM workspaces AS w"
              " WHERE w.id = ?3 AND w.deleted = 0",
    .get = COLUMNS ALIVE "WHERE w.id = ?1 AND s.id = ?2",
    .find = COLUMNS ALIVE "WHERE s.sha256 = ?1",
    .list = COLUMNS "INDEXED BY shares_workspace " ALIVE
                    "WHERE s.workspace = (SELECT number FROM workspaces WHERE id = ?4)"
                    " AND (s.created, s.id) < (?1, ?2)"
                    " ORDER BY s.created DESC, s.id DESC LIMIT ?3",
    .update = "UPDATE shares SET note = coalesce(?3, note),"
              " password = CASE WHEN ?4 IS NULL THEN password WHEN ?4 = '' THEN NULL ELSE ?4 END,"
              " expires = CASE WHEN ?5 < 0 THEN expires ELSE ?5 END,"
              " max_downloads = CASE WHEN ?6 < 0 THEN max_downloads ELSE ?6 END"
              " WHERE revoked = 0 AND " OF_ID,
    .revoke = "UPDATE shares SET revoked = ?3 WHERE revoked = 0 AND " OF_ID,
    .is_there = "SELECT count(*) FROM shares WHERE " OF_ID,
    .download = "UPDATE shares SET downloads = downloads + 1, used = max(used, ?2)"
                " WHERE id = ?1 AND revoked = 0 AND (expires = 0 OR expires > ?2)"
                " AND (max_downloads = 0 OR downloads < max_downloads)",
    .seen = "UPDATE shares SET views = views + 1, used = max(used, ?2) WHERE id = ?1",
    .uploaded = "UPDATE shares SET uploads = uploads + ?2, used = max(used, ?3) WHERE id = ?1",
    .prune = "DELETE FROM shares WHERE id IN (SELECT id FROM shares WHERE"
             " (revoked > 0 AND revoked < ?1) OR (expires > 0 AND expires < ?1) LIMIT ?2)",
#undef COLUMNS
};

static int read_share(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct share_row *r = ret;
    struct str hash = sql_text(rows, 2);
    *r = (struct share_row){
        .is_folder = sql_int(rows, 4) != 0,
        .version = (uint64_t)sql_int(rows, 6),
        .rights = (uint32_t)sql_int(rows, 7),
        .max_downloads = (uint64_t)sql_int(rows, 10),
        .views = (uint64_t)sql_int(rows, 11),
        .downloads = (uint64_t)sql_int(rows, 12),
        .uploads = (uint64_t)sql_int(rows, 13),
        .is_by_server = sql_int(rows, 15) != 0,
        .created_us = sql_int(rows, 16),
        .expires_us = sql_int(rows, 17),
        .used_us = sql_int(rows, 18),
        .revoked_us = sql_int(rows, 19),
    };
    if (hash.len == HASH_LEN)
        memcpy(r->sha256, hash.ptr, HASH_LEN);
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->workspace);
    sql_id(rows, 5, r->file);
    sql_id(rows, 14, r->made_by);
    struct text_slot texts[] = {{.to = &r->path, .from = sql_text(rows, 3)},
                                {.to = &r->password, .from = sql_text(rows, 8)},
                                {.to = &r->note, .from = sql_text(rows, 9)}};
    return texts_own(texts, 3, &r->owned, e);
}

static void done_share(void *row)
{
    share_row_done(row);
}

static const struct row_kind share_kind = {
    .size = sizeof(struct share_row),
    .created_at = offsetof(struct share_row, created_us),
    .read = read_share,
    .done = done_share,
};

void share_row_done(struct share_row *r)
{
    free(r->owned);
    *r = (struct share_row){0};
}

void share_rows_done(struct share_rows *l)
{
    for (size_t i = 0; i < l->count; i++)
        share_row_done(&l->items[i]);
    free(l->items);
    *l = (struct share_rows){0};
}

static int not_there(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no share %.64s", id);
}

/* ---- making ---- */

struct insert_job {
    const struct share_row *row;
    uint32_t max;
};

static int check_pinned(struct db_conn *c, const struct share_row *r, struct err *e)
{
    int64_t found = 1;
    if (r->version && sql_number(c, sql.pinned,
                                 SQL_WITH(SQL_TEXT(r->file), SQL_INT((int64_t)r->version),
                                          SQL_TEXT(r->workspace)),
                                 &found, e))
        return -1;
    return found ? 0
                 : err_set(e, ERR_NOT_FOUND, "there is no version %llu of it (or no longer)",
                           (unsigned long long)r->version);
}

static int insert(struct db_conn *c, void *arg, struct err *e)
{
    const struct insert_job *j = arg;
    const struct share_row *r = j->row;
    int64_t count;
    if (sql_number(c, sql.count, SQL_WITH(SQL_TEXT(r->workspace), SQL_INT(r->created_us)), &count,
                   e) ||
        check_pinned(c, r, e))
        return -1;
    if (count >= (int64_t)j->max)
        return err_set(e, ERR_LIMIT, "the workspace has %u shares: revoke some first", j->max);
    if (sql_run(c, sql.insert,
                SQL_WITH(SQL_TEXT(r->id), SQL_BYTES(r->sha256, HASH_LEN), SQL_TEXT(r->workspace),
                         SQL_TEXT(r->path), SQL_INT(r->is_folder), SQL_ID(r->file),
                         SQL_INT((int64_t)r->version), SQL_INT(r->rights), SQL_TEXT(r->password),
                         SQL_TEXT(r->note ? r->note : ""), SQL_INT((int64_t)r->max_downloads),
                         SQL_TEXT(r->made_by), SQL_INT(r->is_by_server), SQL_INT(r->created_us),
                         SQL_INT(r->expires_us)),
                e))
        return -1;
    if (!sql_changes(c))
        return err_set(e, ERR_NOT_FOUND, "there is no workspace %.64s", r->workspace);
    audit_tell(c, &(struct audit_subject){.object = r->id, .workspace = r->workspace});
    return 0;
}

int meta_share_insert(struct meta *m, const struct share_row *row, uint32_t max, struct err *e)
{
    struct insert_job j = {row, max};
    return db_write(m->db, insert, &j, e);
}

/* ---- reading ---- */

int meta_share_get(struct meta *m, const char *workspace, const char *id, struct share_row *ret,
                   struct err *e)
{
    if (!row_get(m, &share_kind, sql.get, SQL_WITH(SQL_TEXT(workspace), SQL_TEXT(id)), ret, e))
        return 0;
    return e->code == ERR_NOT_FOUND ? not_there(id, e) : -1;
}

int meta_share_find(struct meta *m, const uint8_t sha256[HASH_LEN], struct share_row *ret,
                    struct err *e)
{
    return row_get(m, &share_kind, sql.find, SQL_WITH(SQL_BYTES(sha256, HASH_LEN)), ret, e);
}

int meta_share_list(struct meta *m, const char *workspace, const struct page *page,
                    struct share_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e))
        return -1;
    const struct sql_value values[] = {PAGE_VALUES(mark, page), SQL_TEXT(workspace)};
    if (row_list(m, &share_kind, sql.list, values, 4, page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

/* ---- changing ---- */

struct change_job {
    const char *workspace, *id;
    const struct share_change *change;
    int64_t now_us;
};

static int update(struct db_conn *c, void *arg, struct err *e)
{
    const struct change_job *j = arg;
    const struct share_change *w = j->change;
    if (sql_run(c, sql.update,
                SQL_WITH(SQL_TEXT(j->workspace), SQL_TEXT(j->id), SQL_TEXT(w->note),
                         SQL_TEXT(w->password), SQL_INT(w->expires_us), SQL_INT(w->max_downloads)),
                e))
        return -1;
    return sql_changes(c) ? 0 : not_there(j->id, e);
}

int meta_share_update(struct meta *m, const char *workspace, const char *id,
                      const struct share_change *change, struct err *e)
{
    struct change_job j = {.workspace = workspace, .id = id, .change = change};
    return db_write(m->db, update, &j, e);
}

static int revoke_share(struct db_conn *c, void *arg, struct err *e)
{
    const struct change_job *j = arg;
    int64_t found;
    if (sql_run(c, sql.revoke,
                SQL_WITH(SQL_TEXT(j->workspace), SQL_TEXT(j->id), SQL_INT(j->now_us)), e) ||
        sql_number(c, sql.is_there, SQL_WITH(SQL_TEXT(j->workspace), SQL_TEXT(j->id)), &found, e))
        return -1;
    return found ? 0 : not_there(j->id, e);
}

int meta_share_revoke(struct meta *m, const char *workspace, const char *id, int64_t now_us,
                      struct err *e)
{
    struct change_job j = {.workspace = workspace, .id = id, .now_us = now_us > 0 ? now_us : 1};
    return db_write(m->db, revoke_share, &j, e);
}

/* ---- counting ---- */

static int download(struct db_conn *c, void *arg, struct err *e)
{
    const struct change_job *j = arg;
    if (sql_run(c, sql.download, SQL_WITH(SQL_TEXT(j->id), SQL_INT(j->now_us)), e))
        return -1;
    return sql_changes(c) ? 0 : not_there(j->id, e);
}

int meta_share_download(struct meta *m, const char *id, int64_t now_us, struct err *e)
{
    struct change_job j = {.id = id, .now_us = now_us};
    return db_write(m->db, download, &j, e);
}

int meta_share_seen(struct meta *m, const char *id, int64_t now_us, struct err *e)
{
    return meta_run_soon(m, sql.seen, &id, 1, &now_us, 1, e);
}

int meta_share_uploaded(struct meta *m, const char *id, uint64_t files, int64_t now_us,
                        struct err *e)
{
    const int64_t numbers[] = {(int64_t)files, now_us};
    return meta_run_soon(m, sql.uploaded, &id, 1, numbers, 2, e);
}

/* ---- forgetting ---- */

struct prune_job {
    int64_t before_us;
    uint32_t limit;
    uint64_t count;
};

static int prune(struct db_conn *c, void *arg, struct err *e)
{
    struct prune_job *j = arg;
    if (sql_run(c, sql.prune, SQL_WITH(SQL_INT(j->before_us), SQL_INT(j->limit)), e))
        return -1;
    j->count = sql_changes(c);
    return 0;
}

int meta_share_prune(struct meta *m, int64_t before_us, uint32_t limit, uint64_t *ret_count,
                     struct err *e)
{
    struct prune_job j = {.before_us = before_us, .limit = limit};
    if (db_write(m->db, prune, &j, e))
        return -1;
    *ret_count = j.count;
    return 0;
}
