/* Whether the rows about files agree with each other: for fsck and tests. */
#include <stdio.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/files_int.h"

/* Each finds what cannot be and names it in its first column. */
#define THERE(row) row ".workspace IN (SELECT number FROM workspaces WHERE deleted = 0)"
static const struct {
    const char *what, *sql;
} checks[] = {
    {"the counters of the workspace do not add up",
     "SELECT w.id FROM workspaces AS w WHERE w.deleted = 0 AND (w.files <> (SELECT count(*) FROM files"
     " AS f INDEXED BY files_live WHERE f.workspace = w.number AND f.state = 0) OR w.bytes <>"
     " (SELECT coalesce(sum(f.size), 0) FROM files AS f INDEXED BY files_live"
     " WHERE f.workspace = w.number AND f.state = 0) OR w.kept_bytes <>"
     " (SELECT coalesce(sum(v.cost), 0) FROM versions AS v INDEXED BY versions_rev"
     " WHERE v.workspace = w.number))"},
    {"the newest version is another than the file says",
     "SELECT f.id FROM files AS f LEFT JOIN versions AS v ON v.file = f.number"
     " AND v.version = f.version WHERE " THERE(
         "f") " AND f.state < 2 AND (v.file IS NULL OR v.rev <> f.rev OR v.path <> f.path"
              " OR v.change <> f.change OR v.workspace <> f.workspace OR (f.state = 1) <> (v.change = 3)"
              " OR (f.state = 0 AND (v.sha256 IS NOT f.sha256 OR v.size <> f.size)))"},
    {"a version is newer than its file, or has none",
     "SELECT v.file FROM versions AS v LEFT JOIN files AS f ON f.number = v.file"
     " WHERE f.number IS NULL OR v.version > f.version OR v.version < 1"},
    {"the number of kept versions is another than the file says",
     "SELECT f.id FROM files AS f WHERE " THERE(
         "f") " AND f.kept <> (SELECT count(*) FROM versions AS v"
              " WHERE v.file = f.number)"},
    {"what is in the trash would not come back as it was",
     "SELECT f.id FROM files AS f WHERE " THERE(
         "f") " AND f.state = 1 AND f.kind = 0 AND NOT EXISTS (SELECT 1"
              " FROM versions AS v WHERE v.file = f.number AND v.sha256 = f.sha256 AND v.size = f.size)"},
    {"a version costs neither its size nor nothing",
     "SELECT v.file FROM versions AS v WHERE v.cost <> v.size AND v.cost <> 0"},
    {"a version costs nothing although no other has its content",
     "SELECT v.file FROM versions AS v WHERE " THERE(
         "v") " AND v.cost = 0 AND v.size > 0 AND NOT EXISTS (SELECT 1"
              " FROM versions AS n WHERE n.file = v.file AND n.version < v.version"
              " AND n.sha256 = v.sha256)"},
    {"a file lies below a file",
     "SELECT g.id FROM files AS f CROSS JOIN files AS g INDEXED BY files_live"
     " ON g.workspace = f.workspace AND g.state = 0 AND g.path > f.path || '/'"
     " AND g.path < f.path || '0' WHERE f.state = 0 AND f.kind = 0"},
    {"a version is of no commit",
     "SELECT v.file FROM versions AS v LEFT JOIN commits AS k ON k.workspace = v.workspace"
     " AND k.rev = v.rev WHERE k.rev IS NULL"},
    {"a commit is missing",
     "SELECT w.id FROM workspaces AS w WHERE w.deleted = 0 AND w.rev <> (SELECT count(*)"
     " FROM commits AS k WHERE k.workspace = w.number)"},
    {"a version is kept in another vault than its workspace",
     "SELECT v.file FROM versions AS v JOIN workspaces AS w ON w.number = v.workspace"
     " WHERE v.vault <> w.vault"},
};

/* The next that is wrong, in words. 1, 0 when there is none, -1. */
static int next_wrong(struct sql_rows *rows, const char *what, char *text, size_t size,
                      struct err *e)
{
    char id[ID_SIZE] = "";
    int got = sql_next(rows, e);
    if (got == 1) {
        sql_id(rows, 0, id);
        (void)snprintf(text, size, "%s: %s", id, what);
    }
    return got;
}

int meta_check_files(struct meta *m, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        scoped(sql_rows_done) struct sql_rows rows = {0};
        char text[200];
        if (sql_query(c, checks[i].sql, SQL_NOTHING, &rows, e))
            return -1;
        int got = next_wrong(&rows, checks[i].what, text, sizeof text, e);
        if (got)
            return got < 0 ? -1 : err_set(e, ERR_DAMAGED, "%s", text);
    }
    return 0;
}

/* ---- for fsck: everything that is wrong ---- */

enum { TOLD_MAX = 100 }; /* of one kind */

static int tell_all(struct db_conn *c, size_t check, void (*tell)(void *arg, const char *problem),
                    void *arg, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    char text[200];
    int got = sql_query(c, checks[check].sql, SQL_NOTHING, &rows, e);
    for (int i = 0; !got && i < TOLD_MAX; i++) {
        got = next_wrong(&rows, checks[check].what, text, sizeof text, e);
        if (got != 1)
            return got;
        tell(arg, text);
        got = 0;
    }
    return got;
}

/* SQLite's own: of its pages and indexes, and of rows that refer to others. */
static int tell_sqlite(struct db_conn *c, const char *pragma,
                       void (*tell)(void *arg, const char *problem), void *arg, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got = sql_query(c, pragma, SQL_NOTHING, &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1) {
        char text[300];
        struct str what = sql_text(&rows, 0);
        (void)snprintf(text, sizeof text, "database: %.*s", (int)what.len, what.ptr);
        if (!str_is(what, "ok"))
            tell(arg, text);
        got = 0;
    }
    return got;
}

int meta_check(struct meta *m, void (*tell)(void *arg, const char *problem), void *arg,
               struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e) ||
        tell_sqlite(c, "SELECT integrity_check FROM pragma_integrity_check(100)", tell, arg, e) ||
        tell_sqlite(c,
                    "SELECT 'a row of ' || \"table\" || ' refers to nothing in ' || parent"
                    " FROM pragma_foreign_key_check LIMIT 100",
                    tell, arg, e))
        return -1;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (tell_all(c, i, tell, arg, e))
            return -1;
    return 0;
}
