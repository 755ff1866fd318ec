#include "store/meta_lineage.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/files_int.h"
#include "store/lineage_int.h"

static const struct {
    const char *add, *inputs, *purged, *is_input, *before;
} sql = {
    .add = "INSERT OR IGNORE INTO run_reads (run, file, version, guessed)"
           " SELECT ?1, f.number, ?3, ?4 FROM files AS f WHERE f.id = ?2",
    .inputs = "SELECT " VERSION_COLUMNS ", r.guessed FROM run_reads AS r"
              " CROSS JOIN versions AS v ON v.file = r.file AND v.version = r.version"
              " CROSS JOIN files AS f ON f.number = r.file" VERSION_AUTHOR
              " WHERE r.run = ?1 ORDER BY v.path, v.version",
    .purged = "SELECT count(*) FROM run_reads AS r WHERE r.run = ?1 AND NOT EXISTS"
              " (SELECT 1 FROM versions AS v WHERE v.file = r.file AND v.version = r.version)",
    .is_input = "SELECT count(*) FROM files AS f CROSS JOIN run_reads AS r ON r.file = f.number"
                " WHERE f.id = ?1 AND (?2 = 0 OR r.version = ?2)",
    .before = "SELECT " VERSION_COLUMNS
              " FROM files AS f CROSS JOIN versions AS v ON v.file = f.number" VERSION_AUTHOR
              " WHERE f.id = ?1 AND v.version < ?2 AND k.run IS NOT ?3"
              " ORDER BY v.version DESC LIMIT 1",
};

int lineage_add(struct db_conn *c, const char *run, const struct run_input *inputs, size_t count,
                struct err *e)
{
    for (size_t i = 0; i < count; i++)
        if (sql_run(c, sql.add,
                    SQL_WITH(SQL_TEXT(run), SQL_TEXT(inputs[i].file),
                             SQL_INT((int64_t)inputs[i].version), SQL_INT(inputs[i].is_guessed)),
                    e))
            return -1;
    return 0;
}

int lineage_is_input(struct db_conn *c, const char *file, uint64_t version, int64_t *ret,
                     struct err *e)
{
    return sql_number(c, sql.is_input, SQL_WITH(SQL_TEXT(file), SQL_INT((int64_t)version)), ret, e);
}

static int read_input(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct input_row *r = ret;
    r->is_guessed = sql_int(rows, 13) != 0;
    return version_rows_kind.read(rows, &r->version, e);
}

static void done_input(void *row)
{
    version_row_done(&((struct input_row *)row)->version);
}

static const struct row_kind input_kind = {
    .size = sizeof(struct input_row),
    .created_at = offsetof(struct input_row, version.created_us),
    .read = read_input,
    .done = done_input,
};

void input_rows_done(struct input_rows *l)
{
    for (size_t i = 0; i < l->count; i++)
        version_row_done(&l->items[i].version);
    free(l->items);
    *l = (struct input_rows){0};
}

int meta_run_inputs(struct meta *m, const char *run, struct input_rows *ret, struct err *e)
{
    struct row_list l;
    int64_t purged;
    if (meta_number(m, sql.purged, SQL_WITH(SQL_TEXT(run)), &purged, e) ||
        row_list(m, &input_kind, sql.inputs, SQL_WITH(SQL_TEXT(run)), /* limit= */ 0, &l, e))
        return -1;
    *ret = (struct input_rows){.items = l.items, .count = l.count, .purged = (size_t)purged};
    return 0;
}

int meta_version_before_run(struct meta *m, const char *file, uint64_t version, const char *run,
                            struct version_row *ret, struct err *e)
{
    return row_get(m, &version_rows_kind, sql.before,
                   SQL_WITH(SQL_TEXT(file), SQL_INT((int64_t)(version & INT64_MAX)), SQL_TEXT(run)),
                   ret, e);
}
