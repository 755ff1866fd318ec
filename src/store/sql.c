#include "store/sql.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "store/conn_int.h"

struct sql_value SQL_TEXT(const char *text) {
    if (!text)
        return (struct sql_value){0};
    return (struct sql_value){.kind = SQL_KIND_TEXT, .bytes = text, .len = strlen(text)};
}

struct sql_value
SQL_ID(const char *id) {
    return SQL_TEXT(id && *id ? id : NULL);
}

struct sql_value
SQL_BYTES(const void *bytes, size_t len) {
    if (!bytes)
        return (struct sql_value){0};
    return (struct sql_value){.kind = SQL_KIND_BYTES, .bytes = bytes, .len = len};
}

static size_t
hash_text(const char *text)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a; the texts are our own */
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return (size_t)(h >> 20);
}

/* The kept statement for `sql`, ready to be bound. */
static int prepare(struct db_conn *c, const char *sql, sqlite3_stmt **ret, struct err *e)
{
    size_t at = hash_text(sql) % CONN_SLOTS;
    for (; c->statements[at]; at = (at + 1) % CONN_SLOTS)
        if (strcmp(sqlite3_sql(c->statements[at]), sql) == 0) {
            *ret = c->statements[at];
            return 0;
        }
    assert(c->statement_count < SQL_STATEMENTS_MAX); /* SQL is constant, so this is our bug */
    int rc = sqlite3_prepare_v3(c->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
    if (rc != SQLITE_OK)
        return conn_fail(c, rc, e);
    c->statements[at] = *ret;
    c->statement_count++;
    return 0;
}

static int bind(sqlite3_stmt *st, int at, const struct sql_value *v)
{
    switch (v->kind) {
    case SQL_KIND_INT: return sqlite3_bind_int64(st, at, v->number);
    case SQL_KIND_TEXT:
        return sqlite3_bind_text64(st, at, v->bytes, v->len, SQLITE_STATIC, SQLITE_UTF8);
    case SQL_KIND_BYTES: return sqlite3_bind_blob64(st, at, v->bytes, v->len, SQLITE_STATIC);
    case SQL_KIND_NULL: break;
    }
    return sqlite3_bind_null(st, at);
}

static void release(sqlite3_stmt *st)
{
    (void)sqlite3_reset(st); /* repeats what sqlite3_step said */
    (void)sqlite3_clear_bindings(st);
}

int sql_query(struct db_conn *c, const char *sql, const struct sql_value *values, size_t count,
              struct sql_rows *ret, struct err *e)
{
    sqlite3_stmt *st = NULL;
    if (prepare(c, sql, &st, e))
        return -1;
    assert(!sqlite3_stmt_busy(st)); /* a query inside itself would disturb it */
    assert(sqlite3_bind_parameter_count(st) == (int)count);
    for (size_t i = 0; i < count; i++) {
        int rc = bind(st, (int)i + 1, &values[i]);
        if (rc != SQLITE_OK) {
            release(st);
            return conn_fail(c, rc, e);
        }
    }
    *ret = (struct sql_rows){.c = c, .st = st};
    return 0;
}

int sql_next(struct sql_rows *r, struct err *e)
{
    errno = 0;
    int rc = sqlite3_step(r->st);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : conn_fail(r->c, rc, e);
}

void sql_rows_done(struct sql_rows *r)
{
    if (r->st)
        release(r->st);
    *r = (struct sql_rows){0};
}

int sql_run(struct db_conn *c, const char *sql, const struct sql_value *values, size_t count,
            struct err *e)
{
    struct sql_rows rows = {0};
    int got = sql_query(c, sql, values, count, &rows, e);
    if (got == 0)
        while ((got = sql_next(&rows, e)) == 1)
            ;
    sql_rows_done(&rows);
    return got;
}

uint64_t sql_changes(const struct db_conn *c)
{
    return (uint64_t)sqlite3_changes64(c->sqlite);
}

int64_t sql_int(const struct sql_rows *r, int column)
{
    return sqlite3_column_int64(r->st, column);
}

struct str sql_text(const struct sql_rows *r, int column)
{
    if (sqlite3_column_type(r->st, column) == SQLITE_NULL)
        return STR_NONE;
    const char *bytes = sqlite3_column_blob(r->st, column); /* NULL when it is empty */
    return (struct str){bytes ? bytes : "", (size_t)sqlite3_column_bytes(r->st, column)};
}

void sql_id(const struct sql_rows *r, int column, char ret[ID_SIZE])
{
    struct str text = sql_text(r, column);
    size_t len = text.len < ID_SIZE ? text.len : ID_SIZE - 1;
    if (len > 0)
        memcpy(ret, text.ptr, len);
    ret[len] = '\0';
}

int sql_number(struct db_conn *c, const char *sql, const struct sql_value *values, size_t count,
               int64_t *ret, struct err *e)
{
    struct sql_rows rows = {0};
    int got = sql_query(c, sql, values, count, &rows, e);
    if (got == 0 && (got = sql_next(&rows, e)) >= 0)
        *ret = got == 1 ? sql_int(&rows, 0) : 0;
    sql_rows_done(&rows);
    return got < 0 ? -1 : 0;
}
