/* Locks: taking, renewing, ending, listing. What they forbid is commit_locks.c's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/locks_int.h"
#include "store/meta_int.h"

#define NUMBER "(SELECT number FROM workspaces WHERE id = ?1 AND deleted = 0)"

static const struct {
    const char *number, *session, *count, *count_of, *next_fence, *fence, *insert, *known, *renew,
        *remove, *get, *list, *sweep;
} sql = {
#define COLUMNS                                                                            \
    "SELECT l.id, w.id, l.path, l.holder, l.is_tree, l.is_shared, l.principal, l.session," \
    " l.ttl_s, l.fence, l.conflicts, l.created, l.expires FROM locks AS l "
#define WORKSPACE "CROSS JOIN workspaces AS w ON w.number = l.workspace "
    .number = "SELECT number FROM workspaces WHERE id = ?1 AND deleted = 0",
    .session = "SELECT count(*) FROM sessions WHERE id = ?1 AND workspace = ?2 AND closed = 0",
    .count = "SELECT count(*) FROM locks INDEXED BY locks_path WHERE workspace = ?1",
    .count_of = "SELECT count(*) FROM locks INDEXED BY locks_path WHERE workspace = ?1"
                " AND principal = ?2",
    .next_fence = "UPDATE workspaces SET fence = fence + 1 WHERE number = ?1",
    .fence = "SELECT fence FROM workspaces WHERE number = ?1",
    .insert = "INSERT INTO locks (id, workspace, path, is_tree, is_shared, holder, principal,"
              " session, sha256, ttl_s, fence, created, expires)"
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    .known =
        "SELECT sha256, ttl_s FROM locks WHERE id = ?2 AND workspace = " NUMBER " AND expires > ?3",
    .renew = "UPDATE locks SET expires = ?2, ttl_s = ?3 WHERE id = ?1",
    .remove = "DELETE FROM locks WHERE id = ?1",
    .get = COLUMNS WORKSPACE "WHERE l.id = ?2 AND l.expires > ?3 AND l.workspace = " NUMBER,
    /* On the path, below it, or a tree above it. */
    .list = COLUMNS "INDEXED BY locks_workspace " WORKSPACE
                    "WHERE l.workspace = (SELECT number FROM workspaces WHERE id = ?4"
                    " AND deleted = 0) AND l.expires > ?5 AND (?6 IS NULL OR l.path = ?6"
                    " OR (l.path > ?6 || '/' AND l.path < ?6 || '0') OR ?6 = ''"
                    " OR (l.is_tree = 1 AND (l.path = ''"
                    " OR substr(?6, 1, length(l.path) + 1) = l.path || '/')))"
                    " AND (l.created, l.id) < (?1, ?2)"
                    " ORDER BY l.created DESC, l.id DESC LIMIT ?3",
    .sweep = "DELETE FROM locks WHERE id IN (SELECT id FROM locks INDEXED BY locks_expires"
             " WHERE expires <= ?1 LIMIT 1000)",
#undef COLUMNS
};

static int read_lock(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct lock_row *r = ret;
    *r = (struct lock_row){.is_tree = sql_int(rows, 4) != 0,
                           .is_shared = sql_int(rows, 5) != 0,
                           .ttl_s = (uint32_t)sql_int(rows, 8),
                           .fence = (uint64_t)sql_int(rows, 9),
                           .conflicts = (uint64_t)sql_int(rows, 10),
                           .created_us = sql_int(rows, 11),
                           .expires_us = sql_int(rows, 12)};
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->workspace);
    sql_id(rows, 6, r->principal);
    sql_id(rows, 7, r->session);
    struct text_slot texts[] = {{.to = &r->path, .from = sql_text(rows, 2)},
                                {.to = &r->holder, .from = sql_text(rows, 3)}};
    return texts_own(texts, 2, &r->owned, e);
}

static void done_lock(void *row)
{
    lock_row_done(row);
}

static const struct row_kind lock_kind = {
    .size = sizeof(struct lock_row),
    .created_at = offsetof(struct lock_row, created_us),
    .read = read_lock,
    .done = done_lock,
};

void lock_row_done(struct lock_row *r)
{
    free(r->owned);
    *r = (struct lock_row){0};
}

void lock_rows_done(struct lock_rows *l)
{
    for (size_t i = 0; i < l->count; i++)
        lock_row_done(&l->items[i]);
    free(l->items);
    *l = (struct lock_rows){0};
}

/* ---- taking ---- */

struct taking {
    const struct lock_row *row;
    uint64_t fence;
    struct lock_block block;
};

static int find_workspace(struct db_conn *c, const char *id, int64_t *ret, struct err *e)
{
    if (sql_number(c, sql.number, SQL_WITH(SQL_TEXT(id)), ret, e))
        return -1;
    return *ret ? 0 : err_set(e, ERR_NOT_FOUND, "there is no workspace %.64s", id);
}

static int check_session(struct db_conn *c, const struct lock_row *r, struct err *e)
{
    int64_t found = 1;
    if (*r->session &&
        sql_number(c, sql.session, SQL_WITH(SQL_TEXT(r->session), SQL_TEXT(r->workspace)), &found,
                   e))
        return -1;
    return found ? 0
                 : err_set(e, ERR_NOT_FOUND, "there is no open session %.64s in this workspace",
                           r->session);
}

/* Whether a path lies in the tree `top`. */
static bool is_in(const char *path, const char *top)
{
    size_t len = strlen(top);
    return len == 0 || (strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

/* Two go together when both are shared, or neither reaches the other's path. */
static const struct held *in_the_way(const struct work *w, const struct lock_row *r)
{
    for (size_t i = 0; i < w->lock_count; i++) {
        const struct held *h = &w->locks[i];
        bool reaches = strcmp(h->path, r->path) == 0 || (h->is_tree && is_in(r->path, h->path)) ||
                       (r->is_tree && is_in(h->path, r->path));
        if (reaches && !(h->is_shared && r->is_shared))
            return h;
    }
    return NULL;
}

static int check_free(struct work *w, struct taking *t, struct err *e)
{
    size_t blocked;
    const struct held *by = in_the_way(w, t->row);
    if (by) {
        lock_blocked(by, &t->block);
        return lock_refuse(by, t->row->path, e);
    }
    if (blocked_at(w, t->row->path, &blocked, e))
        return -1;
    return blocked ? err_set(e, ERR_CONFLICT, "%.*s is a file, so nothing below it can be locked",
                             (int)(blocked < 100 ? blocked : 100), t->row->path)
                   : 0;
}

static int check_count(struct work *w, const struct lock_row *r, struct err *e)
{
    int64_t all, own;
    if (sql_number(w->c, sql.count, SQL_WITH(SQL_INT(w->workspace)), &all, e) ||
        sql_number(w->c, sql.count_of, SQL_WITH(SQL_INT(w->workspace), SQL_TEXT(r->principal)),
                   &own, e))
        return -1;
    if (all >= LOCKS_MAX)
        return err_set(e, ERR_LIMIT, "%d locks are held in this workspace: release some",
                       LOCKS_MAX);
    return own < LOCKS_OF_MAX
               ? 0
               : err_set(e, ERR_LIMIT, "you hold %d locks in this workspace: release some",
                         LOCKS_OF_MAX);
}

static int grant(struct work *w, struct taking *t, struct err *e)
{
    const struct lock_row *r = t->row;
    int64_t fence;
    if (sql_run(w->c, sql.next_fence, SQL_WITH(SQL_INT(w->workspace)), e) ||
        sql_number(w->c, sql.fence, SQL_WITH(SQL_INT(w->workspace)), &fence, e) ||
        sql_run(w->c, sql.insert,
                SQL_WITH(SQL_TEXT(r->id), SQL_INT(w->workspace), SQL_TEXT(r->path),
                         SQL_INT(r->is_tree), SQL_INT(r->is_shared), SQL_TEXT(r->holder),
                         SQL_TEXT(r->principal), SQL_ID(r->session), SQL_BYTES(r->sha256, HASH_LEN),
                         SQL_INT(r->ttl_s), SQL_INT(fence), SQL_INT(r->created_us),
                         SQL_INT(r->expires_us)),
                e))
        return -1;
    t->fence = (uint64_t)fence;
    audit_tell(w->c, &(struct audit_subject){
                         .object = r->id, .workspace = r->workspace, .session = r->session});
    return 0;
}

static int take_lock(struct db_conn *c, void *arg, struct err *e)
{
    struct taking *t = arg;
    const struct commit_row now = {.created_us = t->row->created_us};
    struct work w = {.c = c, .commit = &now};
    int failed = find_workspace(c, t->row->workspace, &w.workspace, e) ||
                 check_session(c, t->row, e) || locks_load(&w, e) || check_free(&w, t, e) ||
                 check_count(&w, t->row, e) || grant(&w, t, e);
    locks_done(&w);
    return failed ? -1 : 0;
}

int meta_lock_take(struct meta *m, const struct lock_row *row, uint64_t *ret_fence,
                   struct lock_block *ret_block, struct err *e)
{
    struct taking t = {.row = row};
    if (db_write(m->db, take_lock, &t, e)) {
        if (e->code == ERR_LOCKED)
            *ret_block = t.block;
        return -1;
    }
    *ret_fence = t.fence;
    return 0;
}

/* ---- renewing and ending ---- */

struct touching {
    const char *workspace, *id;
    const struct lock_pass *pass;
    uint32_t ttl_s;
    int64_t now_us;
};

static bool has_token(const struct lock_pass *pass, struct str sha256)
{
    for (size_t i = 0; i < pass->count; i++)
        if (sha256.len == HASH_LEN && memcmp(pass->tokens[i], sha256.ptr, HASH_LEN) == 0)
            return true;
    return false;
}

static int no_lock(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "there is no lock %.64s: it has expired, or was released or broken", id);
}

/* It is in force, and whoever asks may; *ret_ttl_s is what it was taken for. */
static int check_known(struct db_conn *c, const struct touching *t, int64_t *ret_ttl_s,
                       struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.known,
                  SQL_WITH(SQL_TEXT(t->workspace), SQL_TEXT(t->id), SQL_INT(t->now_us)), &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got <= 0)
        return got < 0 ? -1 : no_lock(t->id, e);
    if (t->pass && !has_token(t->pass, sql_text(&rows, 0)))
        return err_set(e, ERR_DENIED, "this needs the token of the lock, as Lock-Token");
    *ret_ttl_s = sql_int(&rows, 1);
    return 0;
}

static int renew_lock(struct db_conn *c, void *arg, struct err *e)
{
    const struct touching *t = arg;
    int64_t ttl_s;
    if (check_known(c, t, &ttl_s, e))
        return -1;
    if (t->ttl_s)
        ttl_s = t->ttl_s;
    return sql_run(c, sql.renew,
                   SQL_WITH(SQL_TEXT(t->id), SQL_INT(t->now_us + ttl_s * 1000000), SQL_INT(ttl_s)),
                   e);
}

int meta_lock_renew(struct meta *m, const char *workspace, const char *id,
                    const struct lock_pass *pass, uint32_t ttl_s, int64_t now_us, struct err *e)
{
    struct touching t = {
        .workspace = workspace, .id = id, .pass = pass, .ttl_s = ttl_s, .now_us = now_us};
    return db_write(m->db, renew_lock, &t, e);
}

static int remove_lock(struct db_conn *c, void *arg, struct err *e)
{
    const struct touching *t = arg;
    int64_t ignored;
    return check_known(c, t, &ignored, e) || sql_run(c, sql.remove, SQL_WITH(SQL_TEXT(t->id)), e)
               ? -1
               : 0;
}

int meta_lock_remove(struct meta *m, const char *workspace, const char *id,
                     const struct lock_pass *pass, int64_t now_us, struct err *e)
{
    struct touching t = {.workspace = workspace, .id = id, .pass = pass, .now_us = now_us};
    return db_write(m->db, remove_lock, &t, e);
}

static int sweep_locks(struct db_conn *c, void *arg, struct err *e)
{
    int64_t *before_us = arg; /* becomes how many it were */
    if (sql_run(c, sql.sweep, SQL_WITH(SQL_INT(*before_us)), e))
        return -1;
    *before_us = (int64_t)sql_changes(c);
    return 0;
}

int meta_lock_sweep(struct meta *m, int64_t before_us, uint64_t *ret_count, struct err *e)
{
    if (db_write(m->db, sweep_locks, &before_us, e))
        return -1;
    *ret_count = (uint64_t)before_us;
    return 0;
}

/* ---- reading ---- */

int meta_lock_get(struct meta *m, const char *workspace, const char *id, int64_t now_us,
                  struct lock_row *ret, struct err *e)
{
    struct err why = {0};
    if (row_get(m, &lock_kind, sql.get,
                SQL_WITH(SQL_TEXT(workspace), SQL_TEXT(id), SQL_INT(now_us)), ret, &why) == 0)
        return 0;
    if (why.code == ERR_NOT_FOUND)
        return no_lock(id, e);
    *e = why;
    return -1;
}

int meta_lock_list(struct meta *m, const char *workspace, const char *path, int64_t now_us,
                   const struct page *page, struct lock_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e) ||
        row_list(
            m, &lock_kind, sql.list,
            SQL_WITH(PAGE_VALUES(mark, page), SQL_TEXT(workspace), SQL_INT(now_us), SQL_TEXT(path)),
            page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

static int check_path(struct db_conn *c, const struct commit_row *now, const char *path,
                      struct err *e)
{
    struct work w = {.c = c, .commit = now, .is_reading = true};
    const struct file_change put = {.op = OP_PUT, .path = path};
    int failed = find_workspace(c, now->workspace, &w.workspace, e) || locks_load(&w, e) ||
                 locks_check(&w, &put, e);
    locks_done(&w);
    return failed ? -1 : 0;
}

int meta_lock_check(struct meta *m, const char *workspace, const char *path,
                    const struct author *author, int64_t now_us, struct err *e)
{
    struct db_conn *c;
    struct commit_row now = {.author = *author, .created_us = now_us};
    (void)snprintf(now.workspace, sizeof now.workspace, "%s", workspace);
    if (db_read_begin(m->db, &c, e))
        return -1;
    int failed = check_path(c, &now, path, e);
    db_read_end(c);
    return failed;
}
