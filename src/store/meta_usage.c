/* What keys and workspaces used, by day. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/meta_int.h"

static const struct {
    const char *add_key, *add_workspace, *sum, *keys, *workspaces;
} sql = {
#define ADDED " DO UPDATE SET runs = runs + excluded.runs, cpu_us = cpu_us + excluded.cpu_us"
    .add_key = "INSERT INTO usage (key_id, day, runs, cpu_us) VALUES (?1, ?2, ?3, ?4)"
               " ON CONFLICT (key_id, day)" ADDED,
    .add_workspace = "INSERT INTO workspace_usage (workspace, day, runs, cpu_us)"
                     " VALUES (?1, ?2, ?3, ?4) ON CONFLICT (workspace, day)" ADDED,
    .sum = "SELECT coalesce(sum(runs), 0), coalesce(sum(cpu_us), 0) FROM usage"
           " WHERE key_id = ?1 AND day >= ?2 AND day < ?3",
    .keys = "SELECT k.id, k.name, coalesce(sum(u.runs), 0), coalesce(sum(u.cpu_us), 0), 0, 0, 0"
            " FROM keys AS k LEFT JOIN usage AS u ON u.key_id = k.id AND u.day >= ?2"
            " AND u.day < ?3 WHERE ?1 IS NULL OR k.principal = ?1"
            " GROUP BY k.id ORDER BY 4 DESC, k.id LIMIT ?4",
    .workspaces = "SELECT w.id, w.name, coalesce(sum(u.runs), 0), coalesce(sum(u.cpu_us), 0),"
                  " w.files, w.bytes, w.kept_bytes FROM workspaces AS w LEFT JOIN workspace_usage"
                  " AS u ON u.workspace = w.id AND u.day >= ?2 AND u.day < ?3"
                  " WHERE w.deleted = 0 AND (?1 IS NULL OR w.owner = ?1)"
                  " GROUP BY w.id ORDER BY 4 DESC, w.kept_bytes DESC, w.id LIMIT ?4",
#undef ADDED
};

int meta_usage_add(struct meta *m, const struct usage_row *more, struct err *e)
{
    const char *key = more->key, *workspace = more->workspace;
    const int64_t numbers[] = {more->day, (int64_t)more->runs, (int64_t)more->cpu_us};
    if (*key && meta_run_soon(m, sql.add_key, &key, 1, numbers, 3, e))
        return -1;
    return *workspace ? meta_run_soon(m, sql.add_workspace, &workspace, 1, numbers, 3, e) : 0;
}

int meta_usage_sum(struct meta *m, const char *key, int64_t from_day, int64_t until_day,
                   struct usage_row *ret, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (db_read_begin(m->db, &c, e) ||
        sql_query(c, sql.sum, SQL_WITH(SQL_TEXT(key), SQL_INT(from_day), SQL_INT(until_day)), &rows,
                  e) ||
        sql_next(&rows, e) < 0)
        return -1;
    *ret = (struct usage_row){.day = from_day,
                              .runs = (uint64_t)sql_int(&rows, 0),
                              .cpu_us = (uint64_t)sql_int(&rows, 1)};
    (void)snprintf(ret->key, sizeof ret->key, "%s", key);
    return 0;
}

int meta_usage_get(struct meta *m, const char *key, int64_t day, struct usage_row *ret,
                   struct err *e)
{
    return meta_usage_sum(m, key, day, day + 1, ret, e);
}

/* ---- reports ---- */

static int read_line(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct usage_line *l = ret;
    *l = (struct usage_line){.runs = (uint64_t)sql_int(rows, 2),
                             .cpu_us = (uint64_t)sql_int(rows, 3),
                             .files = (uint64_t)sql_int(rows, 4),
                             .bytes = (uint64_t)sql_int(rows, 5),
                             .kept_bytes = (uint64_t)sql_int(rows, 6)};
    sql_id(rows, 0, l->id);
    struct text_slot texts[] = {{.to = &l->name, .from = sql_text(rows, 1)}};
    return texts_own(texts, 1, &l->owned, e);
}

static void done_line(void *row)
{
    free(((struct usage_line *)row)->owned);
}

static const struct row_kind line_kind = {
    .size = sizeof(struct usage_line), .read = read_line, .done = done_line};

void usage_lines_done(struct usage_lines *l)
{
    for (size_t i = 0; i < l->count; i++)
        done_line(&l->items[i]);
    free(l->items);
    *l = (struct usage_lines){0};
}

int meta_usage_report(struct meta *m, enum usage_of of, const char *principal, int64_t from_day,
                      int64_t until_day, struct usage_lines *ret, struct err *e)
{
    struct row_list l;
    if (row_list(
            m, &line_kind, of == USAGE_KEYS ? sql.keys : sql.workspaces,
            SQL_WITH(SQL_TEXT(principal), SQL_INT(from_day), SQL_INT(until_day), SQL_INT(PAGE_MAX)),
            PAGE_MAX, &l, e))
        return -1;
    *ret = (struct usage_lines){.items = l.items, .count = l.count};
    return 0;
}
