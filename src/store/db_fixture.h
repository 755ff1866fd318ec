/* db_fixture.h -- for tests: a database with one small table, and jobs that write to it. */
#ifndef STORE_DB_FIXTURE_H
#define STORE_DB_FIXTURE_H

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/expect.h"
#include "store/db.h"
#include "store/sql.h"

static const char *const schema[] = {
    "CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB) STRICT",
    "CREATE TABLE u (k INTEGER PRIMARY KEY) STRICT; INSERT INTO u VALUES (7)",
};

static _Atomic int stops, losses;

static inline void on_stop(void *arg, const char *why)
{
    (void)arg;
    assert_true(strlen(why) > 0);
    atomic_fetch_add(&stops, 1);
}

static inline void on_lost(void *arg, const char *why)
{
    (void)arg;
    assert_true(strlen(why) > 0);
    atomic_fetch_add(&losses, 1);
}

static inline struct db *open_with(const char *dir, size_t migrations, const char *vfs)
{
    const struct db_options o = {.dir = dir,
                                 .migrations = schema,
                                 .migration_count = migrations,
                                 .on_stop = on_stop,
                                 .on_lost = on_lost,
                                 .vfs = vfs};
    struct db *db = NULL;
    OK(db_open(&o, &db, e));
    return db;
}

static inline struct db *open_db(const char *dir)
{
    return open_with(dir, 2, /* vfs= */ NULL);
}

struct row {
    int64_t k;
    size_t size; /* of v */
};

static inline int put(struct db_conn *c, void *arg, struct err *e)
{
    const struct row *r = arg;
    static const char zeros[1 << 20];
    assert(r->size <= sizeof zeros);
    return sql_run(c, "INSERT INTO t (k, v) VALUES (?1, ?2)",
                   SQL_WITH(SQL_INT(r->k), SQL_BYTES(zeros, r->size)), e);
}

static inline int put_and_fail(struct db_conn *c, void *arg, struct err *e)
{
    if (put(c, arg, e))
        return -1;
    return err_set(e, ERR_DENIED, "changed my mind");
}

static inline int64_t number(struct db *db, const char *sql)
{
    struct db_conn *c;
    int64_t v = -1;
    OK(db_read_begin(db, &c, e));
    OK(sql_number(c, sql, SQL_NOTHING, &v, e));
    db_read_end(c);
    return v;
}

static inline int64_t rows(struct db *db)
{
    return number(db, "SELECT count(*) FROM t");
}

#endif
