/* Uploads that come in pieces: what is known of them; their bytes lie elsewhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/audit.h"
#include "store/files_int.h"

static const struct {
    const char *insert, *get, *list, *list_of, *remove, *used;
} sql = {
#define COLUMNS                                                                                   \
    "SELECT id, workspace, path, size, condition, principal, key_id, session, run, created, used" \
    " FROM uploads "
#define ORDER "AND (created, id) < (?1, ?2) ORDER BY created DESC, id DESC LIMIT ?3"
    .insert = "INSERT INTO uploads (id, workspace, path, size, condition, principal, key_id,"
              " session, run, created, used)"
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    .get = COLUMNS "WHERE id = ?1",
    .list = COLUMNS "INDEXED BY uploads_created WHERE true " ORDER,
    .list_of = COLUMNS "INDEXED BY uploads_workspace WHERE workspace = ?4 " ORDER,
    .remove = "DELETE FROM uploads WHERE id = ?1",
    .used = "UPDATE uploads SET used = max(used, ?2) WHERE id = ?1",
#undef COLUMNS
};

static int read_upload(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct upload_row *r = ret;
    int64_t size = sql_int(rows, 3);
    *r = (struct upload_row){
        .size = size < 0 ? UINT64_MAX : (uint64_t)size,
        .created_us = sql_int(rows, 9),
        .used_us = sql_int(rows, 10),
    };
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->workspace);
    author_read(rows, 5, &r->author);
    struct text_slot texts[] = {{.to = &r->path, .from = sql_text(rows, 2)},
                                {.to = &r->condition, .from = sql_text(rows, 4)}};
    return texts_own(texts, 2, &r->owned, e);
}

static void done_upload(void *row)
{
    upload_row_done(row);
}

static const struct row_kind upload_kind = {
    .size = sizeof(struct upload_row),
    .created_at = offsetof(struct upload_row, created_us),
    .read = read_upload,
    .done = done_upload,
};

static int insert(struct db_conn *c, void *arg, struct err *e)
{
    const struct upload_row *r = arg;
    if (sql_run(c, sql.insert,
                SQL_WITH(SQL_TEXT(r->id), SQL_TEXT(r->workspace), SQL_TEXT(r->path),
                         SQL_INT(r->size > INT64_MAX ? -1 : (int64_t)r->size),
                         SQL_TEXT(r->condition), SQL_ID(r->author.principal), SQL_ID(r->author.key),
                         SQL_ID(r->author.session), SQL_ID(r->author.run), SQL_INT(r->created_us),
                         SQL_INT(r->used_us)),
                e))
        return -1;
    audit_tell(c, &(struct audit_subject){.object = r->id, .workspace = r->workspace});
    return 0;
}

int meta_upload_insert(struct meta *m, const struct upload_row *row, struct err *e)
{
    struct upload_row r = *row;
    return db_write(m->db, insert, &r, e);
}

int meta_upload_get(struct meta *m, const char *id, struct upload_row *ret, struct err *e)
{
    return row_get(m, &upload_kind, sql.get, SQL_WITH(SQL_TEXT(id)), ret, e);
}

int meta_upload_list(struct meta *m, const char *workspace, const struct page *page,
                     struct upload_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e))
        return -1;
    const struct sql_value values[] = {PAGE_VALUES(mark, page), SQL_TEXT(workspace)};
    if (row_list(m, &upload_kind, workspace ? sql.list_of : sql.list, values, workspace ? 4 : 3,
                 page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

static int remove_upload(struct db_conn *c, void *arg, struct err *e)
{
    const char *id = arg;
    if (sql_run(c, sql.remove, SQL_WITH(SQL_TEXT(id)), e))
        return -1;
    if (sql_changes(c) == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no upload %.64s", id);
    audit_tell(c, &(struct audit_subject){.object = id});
    return 0;
}

int meta_upload_remove(struct meta *m, const char *id, struct err *e)
{
    char copy[ID_SIZE];
    (void)snprintf(copy, sizeof copy, "%s", id);
    return db_write(m->db, remove_upload, copy, e);
}

int meta_upload_used(struct meta *m, const char *id, int64_t now_us, struct err *e)
{
    return meta_run_soon(m, sql.used, &id, 1, &now_us, 1, e);
}
