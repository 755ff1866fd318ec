#include "store/meta_lineage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/files_int.h"
#include "store/lineage_int.h"

static const struct {
    const char *add, *inputs, *purged, *is_input, *before;
    const char *follow, *set_state, *state_number, *find_number, *parent_number, *undo, *undo_since;
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
    .follow = "INSERT INTO run_history (run, number, previous, undone)"
              " SELECT ?1, ?2, iif(?3, '', state_run), 0 FROM sessions WHERE id = ?4",
    .set_state = "UPDATE sessions SET state_run = ?2 WHERE id = ?1",
    .state_number = "SELECT h.number FROM sessions AS s CROSS JOIN run_history AS h"
                    " ON h.run = s.state_run WHERE s.id = ?1",
    .find_number = "SELECT h.run, h.previous FROM runs AS r INDEXED BY runs_session"
                   " CROSS JOIN run_history AS h ON h.run = r.id"
                   " WHERE r.session = ?1 AND h.number = ?2 AND h.undone = 0"
                   " ORDER BY r.created DESC, r.id DESC LIMIT 1",
    .parent_number =
        "SELECT h.run FROM sessions AS s CROSS JOIN run_history AS h ON h.run = s.parent_run"
        " WHERE s.id = ?1 AND h.number = ?2",
    .undo = "UPDATE run_history SET undone = ?2 WHERE run = ?1 AND ?3 > 0 AND ?4 <> ''",
    .undo_since = "UPDATE run_history SET undone = ?2 WHERE undone = 0 AND number >= ?3 AND run IN"
                  " (SELECT id FROM runs INDEXED BY runs_session WHERE session = ?4"
                  "  AND (created, id) >= (SELECT created, id FROM runs WHERE id = ?1))",
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

int meta_session_number(struct meta *m, const char *session, uint64_t *ret, struct err *e)
{
    int64_t number = 0;
    if (meta_number(m, sql.state_number, SQL_WITH(SQL_TEXT(session)), &number, e))
        return -1;
    *ret = (uint64_t)number;
    return 0;
}

int meta_version_before_run(struct meta *m, const char *file, uint64_t version, const char *run,
                            struct version_row *ret, struct err *e)
{
    return row_get(m, &version_rows_kind, sql.before,
                   SQL_WITH(SQL_TEXT(file), SQL_INT((int64_t)(version & INT64_MAX)), SQL_TEXT(run)),
                   ret, e);
}

/* ---- the history of a state ---- */

struct undoing {
    const char *session;
    uint64_t first, last;
    int64_t now_us;
};

/* The run of that number: 1, with what it began with, or 0: there is none. */
static int find_number(struct db_conn *c, const char *session, uint64_t number, char run[ID_SIZE],
                       char previous[ID_SIZE], bool *ret_has_previous, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got =
        sql_query(c, sql.find_number,
                  SQL_WITH(SQL_TEXT(session), SQL_INT((int64_t)(number & INT64_MAX))), &rows, e);
    if (!got)
        got = sql_next(&rows, e);
    if (got != 1)
        return got;
    sql_id(&rows, 0, run);
    sql_id(&rows, 1, previous);
    *ret_has_previous = sql_text(&rows, 1).ptr != NULL;
    return 1;
}

/* What left the state before the first, where its own row does not say: the run numbered one less, also one of the
 * parent, at the point where its session was forked. */
static int find_before(struct db_conn *c, const struct undoing *u, char previous[ID_SIZE],
                       bool *ret_has_previous, struct err *e)
{
    char ignored[ID_SIZE];
    bool is_known;
    previous[0] = '\0';
    *ret_has_previous = u->first == 1;
    if (u->first == 1)
        return 0;
    int got = find_number(c, u->session, u->first - 1, previous, ignored, &is_known, e);
    if (got == 0) {
        scoped(sql_rows_done) struct sql_rows rows = {0};
        got = sql_query(c, sql.parent_number,
                        SQL_WITH(SQL_TEXT(u->session), SQL_INT((int64_t)(u->first - 1))), &rows, e);
        if (!got && (got = sql_next(&rows, e)) == 1)
            sql_id(&rows, 0, previous);
    }
    *ret_has_previous = got == 1;
    return got < 0 ? -1 : 0;
}

/* By number, and the first also with all that came after it: when the server was killed, the session may have gone
 * back to an earlier number by itself. */
static int undo_runs(struct db_conn *c, void *arg, struct err *e)
{
    const struct undoing *u = arg;
    char run[ID_SIZE] = "", previous[ID_SIZE] = "";
    bool has_previous = false;
    int got = 0;
    for (uint64_t number = u->last; number >= u->first && number > 0; number--) {
        has_previous = false;
        got = find_number(c, u->session, number, run, previous, &has_previous, e);
        const char *mark = number == u->first ? sql.undo_since : sql.undo;
        if (got < 0 || (got && sql_run(c, mark,
                                       SQL_WITH(SQL_TEXT(run), SQL_INT(u->now_us),
                                                SQL_INT((int64_t)u->first), SQL_TEXT(u->session)),
                                       e)))
            return -1;
    }
    if (got == 0 && find_before(c, u, previous, &has_previous, e))
        return -1;
    return sql_run(c, sql.set_state,
                   SQL_WITH(SQL_TEXT(u->session), SQL_TEXT(has_previous ? previous : NULL)), e);
}

/* A rollback of which the mark was not written, because the server or the disk gave out: its numbers are given
 * again. */
static int undo_unmarked(struct db_conn *c, const struct run_row *run, struct err *e)
{
    int64_t last = 0;
    if (run->is_first)
        return 0;
    if (sql_number(c, sql.state_number, SQL_WITH(SQL_TEXT(run->session)), &last, e))
        return -1;
    struct undoing u = {.session = run->session,
                        .first = run->number,
                        .last = (uint64_t)last,
                        .now_us = run->started_us};
    return u.last < u.first ? 0 : undo_runs(c, &u, e);
}

int lineage_follow(struct db_conn *c, const struct run_row *run, struct err *e)
{
    return undo_unmarked(c, run, e) ||
                   sql_run(c, sql.follow,
                           SQL_WITH(SQL_TEXT(run->id), SQL_INT((int64_t)(run->number & INT64_MAX)),
                                    SQL_INT(run->is_first), SQL_TEXT(run->session)),
                           e) ||
                   sql_run(c, sql.set_state, SQL_WITH(SQL_TEXT(run->session), SQL_TEXT(run->id)), e)
               ? -1
               : 0;
}

int meta_runs_undo(struct meta *m, const char *session, uint64_t first, uint64_t last,
                   int64_t now_us, struct err *e)
{
    struct undoing u = {.session = session, .first = first, .last = last, .now_us = now_us};
    return first > last ? 0 : meta_write_beside(m, undo_runs, &u, e);
}

static int empty_session(struct db_conn *c, void *arg, struct err *e)
{
    const char *session = arg;
    return sql_run(c, sql.set_state, SQL_WITH(SQL_TEXT(session), SQL_TEXT("")), e);
}

int meta_session_emptied(struct meta *m, const char *session, struct err *e)
{
    char id[ID_SIZE];
    (void)snprintf(id, sizeof id, "%s", session);
    return meta_write_beside(m, empty_session, id, e);
}
