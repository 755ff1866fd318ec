/* Keys. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "store/audit.h"
#include "store/meta_int.h"

static const struct {
    const char *insert, *get, *list, *list_of, *count, *count_of, *revoke, *used;
} sql = {
#define COLUMNS                                                                               \
    "SELECT id, principal, sha256, name, scopes, max_sessions, max_runs_per_minute,"          \
    " max_cpu_s_per_day, max_memory_mb, created, expires, revoked, used, max_runs_per_month," \
    " max_cpu_s_per_month FROM keys "
#define ORDER "AND (created, id) < (?1, ?2) ORDER BY created DESC, id DESC LIMIT ?3"
    .insert =
        "INSERT INTO keys (id, principal, sha256, name, scopes, max_sessions,"
        " max_runs_per_minute, max_cpu_s_per_day, max_memory_mb, created, expires, revoked,"
        " used, max_runs_per_month, max_cpu_s_per_month) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
        " ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    .get = COLUMNS "WHERE id = ?1",
    .list = COLUMNS "WHERE true " ORDER,
    .list_of = COLUMNS "WHERE principal = ?4 " ORDER,
    .count = "SELECT count(*) FROM keys",
    .count_of = "SELECT count(*) FROM keys WHERE principal = ?1",
    .revoke = "UPDATE keys SET revoked = ?2 WHERE id = ?1 AND revoked = 0",
    .used = "UPDATE keys SET used = max(used, ?2) WHERE id = ?1",
};

static int read_key(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct key_row *r = ret;
    *r = (struct key_row){
        .scopes = (uint32_t)sql_int(rows, 4),
        .limits = {.sessions = (uint32_t)sql_int(rows, 5),
                   .runs_per_minute = (uint32_t)sql_int(rows, 6),
                   .cpu_s_per_day = (uint32_t)sql_int(rows, 7),
                   .memory_mb = (uint32_t)sql_int(rows, 8),
                   .runs_per_month = (uint32_t)sql_int(rows, 13),
                   .cpu_s_per_month = (uint32_t)sql_int(rows, 14)},
        .created_us = sql_int(rows, 9),
        .expires_us = sql_int(rows, 10),
        .revoked_us = sql_int(rows, 11),
        .used_us = sql_int(rows, 12),
    };
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->principal);
    struct str hash = sql_text(rows, 2);
    if (hash.len != HASH_LEN)
        return err_set(e, ERR_DAMAGED, "key %s has no hash", r->id);
    memcpy(r->sha256, hash.ptr, HASH_LEN);
    struct text_slot texts[] = {{.to = &r->name, .from = sql_text(rows, 3)}};
    return texts_own(texts, 1, &r->owned, e);
}

static void done_key(void *row)
{
    key_row_done(row);
}

static const struct row_kind key_kind = {
    .size = sizeof(struct key_row),
    .created_at = offsetof(struct key_row, created_us),
    .read = read_key,
    .done = done_key,
};

static int insert_key(struct db_conn *c, void *arg, struct err *e)
{
    const struct key_row *k = arg;
    if (sql_run(c, sql.insert,
                SQL_WITH(SQL_TEXT(k->id), SQL_TEXT(k->principal), SQL_BYTES(k->sha256, HASH_LEN),
                         SQL_TEXT(k->name ? k->name : ""), SQL_INT(k->scopes),
                         SQL_INT(k->limits.sessions), SQL_INT(k->limits.runs_per_minute),
                         SQL_INT(k->limits.cpu_s_per_day), SQL_INT(k->limits.memory_mb),
                         SQL_INT(k->created_us), SQL_INT(k->expires_us), SQL_INT(k->revoked_us),
                         SQL_INT(k->used_us), SQL_INT(k->limits.runs_per_month),
                         SQL_INT(k->limits.cpu_s_per_month)),
                e))
        return -1;
    audit_tell(c, &(struct audit_subject){.object = k->id, .signed_in = k->principal});
    return 0;
}

int meta_key_insert(struct meta *m, const struct key_row *row, struct err *e)
{
    struct key_row k = *row;
    return db_write(m->db, insert_key, &k, e);
}

int meta_key_get(struct meta *m, const char *id, struct key_row *ret, struct err *e)
{
    return row_get(m, &key_kind, sql.get, SQL_WITH(SQL_TEXT(id)), ret, e);
}

int meta_key_list(struct meta *m, const char *principal, const struct page *page,
                  struct key_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e))
        return -1;
    const struct sql_value values[] = {PAGE_VALUES(mark, page), SQL_TEXT(principal)};
    if (row_list(m, &key_kind, principal ? sql.list_of : sql.list, values, principal ? 4 : 3,
                 page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

int meta_key_count(struct meta *m, const char *principal, uint64_t *ret, struct err *e)
{
    int64_t count;
    int failed = principal ? meta_number(m, sql.count_of, SQL_WITH(SQL_TEXT(principal)), &count, e)
                           : meta_number(m, sql.count, SQL_NOTHING, &count, e);
    if (!failed)
        *ret = (uint64_t)count;
    return failed;
}

struct revoke {
    const char *id;
    int64_t now_us;
};

static int revoke_key(struct db_conn *c, void *arg, struct err *e)
{
    const struct revoke *r = arg;
    int64_t exists;
    if (sql_run(c, sql.revoke, SQL_WITH(SQL_TEXT(r->id), SQL_INT(r->now_us)), e))
        return -1;
    if (sql_changes(c) > 0)
        return 0;
    if (sql_number(c, "SELECT count(*) FROM keys WHERE id = ?1", SQL_WITH(SQL_TEXT(r->id)), &exists,
                   e))
        return -1;
    return exists ? 0 : err_set(e, ERR_NOT_FOUND, "there is no such key");
}

int meta_key_revoke(struct meta *m, const char *id, int64_t now_us, struct err *e)
{
    struct revoke r = {id, now_us};
    return db_write(m->db, revoke_key, &r, e);
}

int meta_key_used(struct meta *m, const char *id, int64_t now_us, struct err *e)
{
    return meta_run_soon(m, sql.used, &id, 1, &now_us, 1, e);
}
