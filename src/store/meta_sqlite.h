/* meta_sqlite.h -- for tests: the functions of meta_fixture.h on SQLite, and plans of its statements. */
#ifndef STORE_META_SQLITE_H
#define STORE_META_SQLITE_H

#include <sqlite3.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/conn_int.h"
#include "store/db.h"
#include "store/meta_fixture.h"
#include "store/meta_int.h"
#include "store/store.h"

static struct scratch scratch;
static struct store *store;

static inline void lost(void *arg, const char *why)
{
    (void)arg;
    fail_msg("a posted write failed: %s", why);
}

static inline void open_store(void)
{
    const struct store_options options = {.dir = scratch.path, .on_lost = lost};
    OK(store_open(&options, &store, e));
}

struct meta *contract_open(void)
{
    scratch = scratch_new_fast();
    open_store();
    return store_meta(store);
}

struct meta *contract_reopen(struct meta *m)
{
    assert_ptr_equal(m, store_meta(store));
    store_close(store);
    open_store();
    return store_meta(store);
}

void contract_close(struct meta *m)
{
    assert_ptr_equal(m, store_meta(store));
    store_close(store);
    scratch_done(&scratch);
}

static inline int on_statement(unsigned kind, void *arg, void *st, void *text)
{
    (void)text;
    struct buf *all = arg;
    if (kind == SQLITE_TRACE_STMT) {
        buf_str(all, sqlite3_sql(st));
        buf_add(all, "", 1);
    }
    return 0;
}

/* What SQLite plans to do for `sql`. */
static inline void explain(struct db_conn *c, const char *sql, struct buf *plan)
{
    scoped(buf_done) struct buf question = BUF_INIT(10000);
    buf_fmt(&question, "EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_prepare_v2(c->sqlite, question.bytes, -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW)
        buf_fmt(plan, "%s\n", (const char *)sqlite3_column_text(st, 3));
    sqlite3_finalize(st);
}

/* Every statement that readers run while `body` does, each with a NUL behind it. */
static inline void trace_readers(struct meta *m, void (*body)(struct meta *m), struct buf *seen)
{
    struct db_conn *readers[DB_READERS_MAX];
    for (size_t i = 0; i < DB_READERS_MAX; i++) {
        OK(db_read_begin(m->db, &readers[i], e));
        sqlite3_trace_v2(readers[i]->sqlite, SQLITE_TRACE_STMT, on_statement, seen);
    }
    for (size_t i = 0; i < DB_READERS_MAX; i++)
        db_read_end(readers[i]);
    body(m);
    for (size_t i = 0; i < DB_READERS_MAX; i++)
        sqlite3_trace_v2(readers[i]->sqlite, 0, NULL, NULL);
}

#endif
