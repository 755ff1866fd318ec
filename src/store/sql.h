/* sql.h -- statements, on whichever connection a job or a reader has.
 *
 * SQL is constant text; values only ever go in as parameters ?1, ?2 ... Statements are prepared once
 * per connection and kept. For jobs (db_write, db_post) and between db_read_begin and db_read_end.
 *
 *     sql_run(c, "DELETE FROM runs WHERE id = ?1", SQL_WITH(SQL_TEXT(id)), e)
 *
 *     scoped(sql_rows_done) struct sql_rows rows = {0};
 *     int got = sql_query(c, "SELECT id, created FROM runs", SQL_NOTHING, &rows, e);
 *     while (!got && (got = sql_next(&rows, e)) == 1)
 *         ... sql_text(&rows, 0), sql_int(&rows, 1) ...
 *
 * Fails with ERR_CONFLICT (a constraint), ERR_NO_SPACE, ERR_NO_MEMORY, ERR_UNAVAILABLE (the disk
 * refuses), ERR_DAMAGED, ERR_INTERNAL (our SQL is wrong).
 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"

struct db_conn;
struct err;
struct sqlite3_stmt;

enum { SQL_STATEMENTS_MAX = 256 }; /* that a connection keeps */

enum sql_kind { SQL_KIND_NULL, SQL_KIND_INT, SQL_KIND_TEXT, SQL_KIND_BYTES };

/* Borrowed until the statement is over. */
struct sql_value {
    enum sql_kind kind;
    int64_t number;
    const void *bytes;
    size_t len;
};

struct sql_value SQL_TEXT(const char *text); /* NULL stays NULL */
struct sql_value SQL_ID(const char *id);     /* "" becomes NULL */
struct sql_value SQL_BYTES(const void *bytes, size_t len);
static inline struct sql_value SQL_INT(int64_t v) {
    return (struct sql_value){.kind = SQL_KIND_INT, .number = v};
}

/* The two arguments `values, count`. */
#define SQL_WITH(...)                        \
    (const struct sql_value[]){__VA_ARGS__}, \
        sizeof((const struct sql_value[]){__VA_ARGS__}) / sizeof(struct sql_value)
#define SQL_NOTHING NULL, 0

/* Runs a statement to its end; rows are passed over. */
int sql_run(struct db_conn *c, const char *sql, const struct sql_value *values, size_t count,
            struct err *e);

/* Rows that the last sql_run inserted, changed or removed. */
uint64_t sql_changes(const struct db_conn *c);

struct sql_rows {
    struct db_conn *c;
    struct sqlite3_stmt *st; /* borrowed from the connection */
};

int sql_query(struct db_conn *c, const char *sql, const struct sql_value *values, size_t count,
              struct sql_rows *ret, struct err *e);
int sql_next(struct sql_rows *r, struct err *e); /* 1: a row, 0: no more, -1 */
void sql_rows_done(struct sql_rows *r);

/* Columns of the row, from 0. Text and bytes are borrowed until the next sql_next. */
int64_t sql_int(const struct sql_rows *r, int column);     /* NULL is 0 */
struct str sql_text(const struct sql_rows *r, int column); /* text or bytes; NULL is STR_NONE */
void sql_id(const struct sql_rows *r, int column, char ret[ID_SIZE]); /* NULL is "" */

/* One number: the first column of the first row, 0 when there is none. */
int sql_number(struct db_conn *c, const char *sql, const struct sql_value *values, size_t count,
               int64_t *ret, struct err *e);

#endif
