#include "store/conn_int.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/err.h"
#include "store/pack.h"

/* Nothing of SQLite's own words about files gets out: they may hold paths. */
static int fail_with(struct err *e, int rc, const char *words)
{
    switch (rc & 0xff) {
    case SQLITE_NOMEM: return err_set(e, ERR_NO_MEMORY, "the database has no memory");
    case SQLITE_FULL: return err_set(e, ERR_NO_SPACE, "the disk of the data directory is full");
    case SQLITE_IOERR:
        return err_set(e, ERR_UNAVAILABLE, "the disk of the data directory fails (%s)",
                       sqlite3_errstr(rc));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(e, ERR_DAMAGED,
                       "the database is damaged: restore the data directory from "
                       "a backup");
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return err_set(e, ERR_UNAVAILABLE, "the database is locked");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return err_set(e, ERR_DENIED, "the database cannot be opened or written (%s)",
                       sqlite3_errstr(rc));
    default: return err_set(e, ERR_INTERNAL, "database: %s", words);
    }
}

static int fail_constraint(struct err *e, int rc, const char *words)
{
    if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
        rc == SQLITE_CONSTRAINT_ROWID)
        return err_set(e, ERR_CONFLICT, "it exists already");
    if (rc == SQLITE_CONSTRAINT_FOREIGNKEY)
        return err_set(e, ERR_CONFLICT, "it refers to something that does not exist");
    return err_set(e, ERR_INTERNAL, "database: %s", words);
}

/* A write for which there is no room leaves everything as it was, whatever the limit is called.
 * SQLite knows only ENOSPC; for quotas it says IOERR, and sqlite3_system_errno is not set on this
 * way, so errno itself is asked. A cause that was lost on the way stops the store, which is the
 * safe mistake. SHMSIZE and SHMMAP are of the index of the log, which is no durable file, and mean
 * the same. */
static bool is_full(int rc, int cause)
{
    if (rc == SQLITE_IOERR_SHMSIZE || (rc & 0xff) == SQLITE_FULL)
        return true;
    if (rc == SQLITE_IOERR_FSYNC ||
        rc == SQLITE_IOERR_SHMMAP) /* FSYNC: db.h says why that does not stop */
        return cause == ENOSPC || cause == EDQUOT;
    return rc == SQLITE_IOERR_WRITE && (cause == ENOSPC || cause == EDQUOT || cause == EFBIG);
}

int conn_fail(struct db_conn *c, int rc, struct err *e)
{
    int cause = errno; /* of what SQLite did last */
    int base = rc & 0xff;
    const char *words = sqlite3_errmsg(c->sqlite);
    if (is_full(rc, cause)) {
        if (c->trouble == TROUBLE_NONE)
            c->trouble = TROUBLE_FULL;
        return fail_with(e, SQLITE_FULL, words);
    }
    if (base == SQLITE_IOERR || base == SQLITE_CORRUPT || base == SQLITE_NOTADB)
        c->trouble = TROUBLE_FATAL;
    if (base == SQLITE_CONSTRAINT)
        return fail_constraint(e, rc, words);
    return fail_with(e, rc, words);
}

int conn_exec(struct db_conn *c, const char *sql, struct err *e)
{
    errno = 0;
    int rc = sqlite3_exec(c->sqlite, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : conn_fail(c, rc, e);
}

/* Settings that are not part of the file. Order matters for the writer: WAL before anything. What a
 * savepoint may have to undo stays in memory: a file in /var/tmp for every group of commits costs
 * more than the commit, and would hold what users wrote. */
static const char writer_setup[] = "PRAGMA journal_mode = WAL;"
                                   "PRAGMA synchronous = FULL;"
                                   "PRAGMA foreign_keys = ON;"
                                   "PRAGMA mmap_size = 0;"
                                   "PRAGMA temp_store = MEMORY;"
                                   "PRAGMA cache_size = -8000;"
                                   "PRAGMA journal_size_limit = 67108864;";
static const char reader_setup[] = "PRAGMA query_only = ON;"
                                   "PRAGMA mmap_size = 0;"
                                   "PRAGMA temp_store = MEMORY;"
                                   "PRAGMA cache_size = -2000;";

static int configure(struct db_conn *c, bool is_reader, struct err *e)
{
    int rc = sqlite3_extended_result_codes(c->sqlite, 1);
    if (!rc)
        rc = sqlite3_db_config(c->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (!rc)
        rc = sqlite3_db_config(c->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (!rc) /* the writer does it itself, when all is well */
        rc = sqlite3_db_config(c->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (!rc)
        rc = sqlite3_busy_timeout(c->sqlite, CONN_BUSY_MS);
    if (!rc)
        rc = sqlite3_wal_autocheckpoint(c->sqlite, 0);
    if (rc)
        return conn_fail(c, rc, e);
    (void)sqlite3_limit(c->sqlite, SQLITE_LIMIT_ATTACHED, 0);
    return conn_exec(c, is_reader ? reader_setup : writer_setup, e);
}

/* What SQLite maps is the index of a log, of which it has written one byte in each page. Where
 * blocks are smaller, the rest of the page is a hole, and on a full disk the first store to it
 * would end the process (SIGBUS). So what is mapped is allocated first, or not mapped. */
static void *map_allocated(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
    int failed;
    do
        failed = protection & PROT_WRITE ? fallocate(fd, 0, offset, (off_t)len) : 0;
    while (failed && errno == EINTR);
    if (failed && (errno == ENOSPC || errno == EDQUOT))
        return MAP_FAILED;
    return mmap(at, len, protection, flags, fd, offset);
}

static void set_calls(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    (void)vfs->xSetSystemCall(vfs, "mmap", (sqlite3_syscall_ptr)map_allocated);
}

struct db_conn *conn_open(const char *path, const char *vfs, bool is_reader, struct err *e)
{
    struct db_conn *c = calloc(1, sizeof *c);
    if (!c) {
        (void)err_set(e, ERR_NO_MEMORY, "open the database");
        return NULL;
    }
    static pthread_once_t is_set = PTHREAD_ONCE_INIT;
    (void)pthread_once(&is_set, set_calls);
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    flags |= is_reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    int rc = sqlite3_open_v2(path, &c->sqlite, flags, vfs);
    if (rc != SQLITE_OK) {
        (void)fail_with(e, rc, "open");
        conn_close(c);
        return NULL;
    }
    if (configure(c, is_reader, e)) {
        conn_close(c);
        return NULL;
    }
    return c;
}

void conn_close(struct db_conn *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < CONN_SLOTS; i++)
        (void)sqlite3_finalize(c->statements[i]);
    (void)sqlite3_close_v2(c->sqlite); /* what it fails with was told before */
    unpacker_free(c->unpacker);
    free(c);
}
