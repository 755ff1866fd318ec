/* conn_int.h -- one connection to meta.db: used by one thread at a time. */
#ifndef STORE_CONN_INT_H
#define STORE_CONN_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "store/sql.h"

struct db;
struct err;

enum {
    CONN_BUSY_MS = 5000, /* how long a lock of SQLite is waited for */
    CONN_SLOTS = 2 * SQL_STATEMENTS_MAX,
};

/* What the last failures mean for the one who writes. */
enum conn_trouble {
    TROUBLE_NONE,
    TROUBLE_FULL,  /* there is no room now */
    TROUBLE_FATAL, /* nobody knows what is on the disk */
};

struct db_conn {
    sqlite3 *sqlite;
    struct db *owner;
    bool is_free; /* in the pool of readers; guarded by the pool's lock */
    enum conn_trouble trouble;
    void *rider_arg;                      /* the writer's: of what rides along with the job */
    int wal_pages;                        /* the writer's: of the log after the last commit */
    uint64_t commits;                     /* and how many there were */
    struct ZSTD_DCtx_s *unpacker;         /* store/pack.h; NULL until it is needed */
    sqlite3_stmt *statements[CONN_SLOTS]; /* by the hash of their text */
    size_t statement_count;
};

/* Opens `path`; NULL on failure. A reader can only read. */
struct db_conn *conn_open(const char *path, const char *vfs, bool is_reader, struct err *e);
void conn_close(struct db_conn *c);

/* Runs text of several statements, without parameters. */
int conn_exec(struct db_conn *c, const char *sql, struct err *e);

/* Turns a result code of SQLite into an err and notes the trouble it means. errno was 0 before and
 * is still what SQLite left. */
int conn_fail(struct db_conn *c, int rc, struct err *e);

#endif
