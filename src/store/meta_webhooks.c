/* Webhooks: their rows. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/meta_int.h"
#include "store/meta_webhooks.h"

static const struct {
    const char *count, *insert, *get, *list, *list_of, *update, *remove, *went;
} sql = {
#define COLUMNS                                                                                  \
    "SELECT h.id, h.workspace, h.made_by, h.is_by_server, h.url, h.secret, h.events, h.created," \
    " h.seq, h.failures, h.failing, h.next, h.last, h.paused, h.last_status, h.last_error"       \
    " FROM webhooks AS h JOIN workspaces AS w ON w.id = h.workspace AND w.deleted = 0 "
    .count = "SELECT count(*) FROM webhooks WHERE workspace = ?1",
    .insert = "INSERT INTO webhooks (id, workspace, url, secret, events, made_by, is_by_server,"
              " created, seq, failures, failing, next, last, last_status, paused)"
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
              " (SELECT coalesce(max(seq), 0) FROM audit), 0, 0, 0, 0, 0, 0)",
    .get = COLUMNS "WHERE h.workspace = ?1 AND h.id = ?2",
    .list = COLUMNS "ORDER BY h.created, h.id",
    .list_of = COLUMNS "WHERE h.workspace = ?1 ORDER BY h.created, h.id",
    .update = "UPDATE webhooks SET url = ?3, secret = ?4, events = ?5, made_by = ?6,"
              " is_by_server = ?7, failures = ?8, failing = ?9, next = ?10, paused = ?11"
              " WHERE workspace = ?1 AND id = ?2",
    .remove = "DELETE FROM webhooks WHERE workspace = ?1 AND id = ?2",
    .went =
        "UPDATE webhooks SET seq = max(seq, ?2), failures = ?3, failing = ?4, next = ?5,"
        " last = ?6, paused = CASE WHEN ?7 > 0 THEN ?7 ELSE paused END, last_status = ?8, last_error = ?9 WHERE id = ?1",
#undef COLUMNS
};

static int read_webhook(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct webhook_row *r = ret;
    *r = (struct webhook_row){.is_by_server = sql_int(rows, 3) != 0,
                              .created_us = sql_int(rows, 7),
                              .seq = (uint64_t)sql_int(rows, 8),
                              .failures = (uint32_t)sql_int(rows, 9),
                              .failing_us = sql_int(rows, 10),
                              .next_us = sql_int(rows, 11),
                              .last_us = sql_int(rows, 12),
                              .paused_us = sql_int(rows, 13),
                              .last_status = (int)sql_int(rows, 14)};
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->workspace);
    sql_id(rows, 2, r->made_by);
    struct text_slot texts[] = {{.to = &r->url, .from = sql_text(rows, 4)},
                                {.to = &r->secret, .from = sql_text(rows, 5)},
                                {.to = &r->events, .from = sql_text(rows, 6)},
                                {.to = &r->last_error, .from = sql_text(rows, 15)}};
    return texts_own(texts, sizeof texts / sizeof *texts, &r->owned, e);
}

void webhook_row_done(struct webhook_row *r)
{
    free(r->owned);
    r->owned = NULL;
}

static void done_webhook(void *row)
{
    webhook_row_done(row);
}

static const struct row_kind webhook_kind = {
    .size = sizeof(struct webhook_row),
    .created_at = offsetof(struct webhook_row, created_us),
    .read = read_webhook,
    .done = done_webhook,
};

void webhook_rows_done(struct webhook_rows *l)
{
    for (size_t i = 0; i < l->count; i++)
        webhook_row_done(&l->items[i]);
    free(l->items);
    *l = (struct webhook_rows){0};
}

static int not_there(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no webhook %.64s", id);
}

struct insert_job {
    const struct webhook_row *row;
    uint32_t max;
};

static int insert(struct db_conn *c, void *arg, struct err *e)
{
    const struct insert_job *j = arg;
    const struct webhook_row *r = j->row;
    int64_t count;
    if (sql_number(c, sql.count, SQL_WITH(SQL_TEXT(r->workspace)), &count, e))
        return -1;
    if (count >= j->max)
        return err_set(e, ERR_LIMIT, "the workspace has %u webhooks; remove one first", j->max);
    if (sql_run(c, sql.insert,
                SQL_WITH(SQL_TEXT(r->id), SQL_TEXT(r->workspace), SQL_TEXT(r->url),
                         SQL_TEXT(r->secret), SQL_TEXT(r->events), SQL_TEXT(r->made_by),
                         SQL_INT(r->is_by_server), SQL_INT(r->created_us)),
                e))
        return -1;
    audit_tell(c, &(struct audit_subject){.object = r->id, .workspace = r->workspace});
    return 0;
}

int meta_webhook_insert(struct meta *m, const struct webhook_row *row, uint32_t max, struct err *e)
{
    struct insert_job j = {row, max};
    return db_write(m->db, insert, &j, e);
}

int meta_webhook_get(struct meta *m, const char *workspace, const char *id, struct webhook_row *ret,
                     struct err *e)
{
    if (!row_get(m, &webhook_kind, sql.get, SQL_WITH(SQL_TEXT(workspace), SQL_TEXT(id)), ret, e))
        return 0;
    return e->code == ERR_NOT_FOUND ? not_there(id, e) : -1;
}

int meta_webhook_list(struct meta *m, const char *workspace, struct webhook_rows *ret,
                      struct err *e)
{
    struct row_list l;
    const struct sql_value values[] = {SQL_TEXT(workspace)};
    if (row_list(m, &webhook_kind, workspace ? sql.list_of : sql.list, values, workspace ? 1 : 0,
                 /* limit= */ 0, &l, e))
        return -1;
    *ret = (struct webhook_rows){.items = l.items, .count = l.count};
    return 0;
}

static int update(struct db_conn *c, void *arg, struct err *e)
{
    const struct webhook_row *r = arg;
    if (sql_run(c, sql.update,
                SQL_WITH(SQL_TEXT(r->workspace), SQL_TEXT(r->id), SQL_TEXT(r->url),
                         SQL_TEXT(r->secret), SQL_TEXT(r->events), SQL_TEXT(r->made_by),
                         SQL_INT(r->is_by_server), SQL_INT(r->failures), SQL_INT(r->failing_us),
                         SQL_INT(r->next_us), SQL_INT(r->paused_us)),
                e))
        return -1;
    return sql_changes(c) > 0 ? 0 : not_there(r->id, e);
}

int meta_webhook_update(struct meta *m, const struct webhook_row *row, struct err *e)
{
    struct webhook_row r = *row;
    return db_write(m->db, update, &r, e);
}

struct remove_job {
    const char *workspace, *id;
};

static int remove_webhook(struct db_conn *c, void *arg, struct err *e)
{
    const struct remove_job *j = arg;
    if (sql_run(c, sql.remove, SQL_WITH(SQL_TEXT(j->workspace), SQL_TEXT(j->id)), e))
        return -1;
    return sql_changes(c) > 0 ? 0 : not_there(j->id, e);
}

int meta_webhook_remove(struct meta *m, const char *workspace, const char *id, struct err *e)
{
    struct remove_job j = {workspace, id};
    return db_write(m->db, remove_webhook, &j, e);
}

/* ---- how it goes ---- */

struct went {
    struct webhook_row row;
    char error[256];
};

static int write_went(struct db_conn *c, void *arg, struct err *e)
{
    const struct went *w = arg;
    const struct webhook_row *r = &w->row;
    return sql_run(c, sql.went,
                   SQL_WITH(SQL_TEXT(r->id), SQL_INT((int64_t)r->seq), SQL_INT(r->failures),
                            SQL_INT(r->failing_us), SQL_INT(r->next_us), SQL_INT(r->last_us),
                            SQL_INT(r->paused_us), SQL_INT(r->last_status), SQL_ID(w->error)),
                   e);
}

int meta_webhook_went(struct meta *m, const struct webhook_row *row, struct err *e)
{
    struct went *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_NO_MEMORY, "note a delivery");
    w->row = *row;
    w->row.owned = NULL;
    size_t len = row->last_error ? strnlen(row->last_error, sizeof w->error - 1) : 0;
    if (len)
        memcpy(w->error, row->last_error, len);
    return db_note(m->db, write_went, w, free, e);
}
