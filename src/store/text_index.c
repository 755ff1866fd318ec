/* text_index.c -- opening DATA/search.db, making it anew, its transactions and its readers. */
#include "store/text_index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/text_index_int.h"

/* Raised with every change of the schema or of what is written under it: the file is made anew. */
enum { TEXT_INDEX_VERSION = 2 };

/* `indexed` is the version whose text is there; until a new one is read, that of the one before is.
 * `scope` of a text is the word that stands for its workspace in every question. */
static const char schema[] =
    "CREATE TABLE workspaces ("
    "  number INTEGER PRIMARY KEY,"
    "  id TEXT NOT NULL UNIQUE,"
    "  vault TEXT NOT NULL,"
    "  rev INTEGER NOT NULL,"
    "  chunks INTEGER NOT NULL,"
    "  words INTEGER NOT NULL"
    ") STRICT;"
    "CREATE TABLE docs ("
    "  number INTEGER PRIMARY KEY,"
    "  workspace INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  id TEXT NOT NULL,"
    "  principal TEXT NOT NULL,"
    "  path TEXT NOT NULL,"
    "  version INTEGER NOT NULL,"
    "  indexed INTEGER NOT NULL,"
    "  size INTEGER NOT NULL,"
    "  sha256 BLOB NOT NULL,"
    "  mime TEXT NOT NULL,"
    "  changed INTEGER NOT NULL,"
    "  state INTEGER NOT NULL,"
    "  reason TEXT,"
    "  chunks INTEGER NOT NULL"
    ") STRICT;"
    "CREATE UNIQUE INDEX docs_id ON docs (kind, id);"
    "CREATE INDEX docs_state ON docs (workspace, state, number);"
    "CREATE INDEX docs_pending ON docs (number) WHERE state = 0;"
    "CREATE INDEX docs_content ON docs (sha256) WHERE state = 1;"
    "CREATE TABLE chunks ("
    "  number INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  doc INTEGER NOT NULL,"
    "  place INTEGER NOT NULL,"
    "  first INTEGER NOT NULL,"
    "  last INTEGER NOT NULL,"
    "  column INTEGER NOT NULL,"
    "  word_count INTEGER NOT NULL,"
    "  label TEXT"
    ") STRICT;"
    "CREATE INDEX chunks_doc ON chunks (doc);"
    /* text_vectors.c: which workspaces have vectors, of which model; the vectors. */
    "CREATE TABLE meanings ("
    "  workspace INTEGER PRIMARY KEY,"
    "  model TEXT NOT NULL,"
    "  dim INTEGER NOT NULL,"
    "  done INTEGER NOT NULL"
    ") STRICT;"
    "CREATE TABLE vectors ("
    "  workspace INTEGER NOT NULL,"
    "  chunk INTEGER NOT NULL,"
    "  doc INTEGER NOT NULL,"
    "  vector BLOB NOT NULL,"
    "  PRIMARY KEY (workspace, chunk)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE texts ("
    "  number INTEGER PRIMARY KEY,"
    "  title TEXT NOT NULL,"
    "  body TEXT NOT NULL,"
    "  scope TEXT NOT NULL"
    ") STRICT;"
    "CREATE VIRTUAL TABLE words USING fts5 (title, body, scope, content = 'texts',"
    "  content_rowid = 'number', tokenize = 'porter unicode61');"
    /* Words as they are written, and their trigrams, for those that are mistyped or part of longer
     * ones. They are not taken out again: what nobody has any more is found by nobody. */
    "CREATE TABLE terms (number INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE VIRTUAL TABLE grams USING fts5 (term, content = '', tokenize = 'trigram');";

static const char setup[] = "PRAGMA synchronous = NORMAL;";
static const char reader_setup[] = "PRAGMA cache_size = -4000;";

static int path_of(const char *dir, const char *name, char ret[PATH_MAX], struct err *e)
{
    int len = snprintf(ret, PATH_MAX, "%s/%s", dir, name);
    if (len < 0 || len >= PATH_MAX)
        return err_set(e, ERR_INVALID, "the path of the data directory is too long");
    return 0;
}

static int make_file(const char *path, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? err_sys(e, errno, "make the index of words") : 0;
}

static void remove_files(const char *dir)
{
    static const char *const names[] = {"search.db", "search.db-wal", "search.db-shm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err ignored = {0};
        char path[PATH_MAX];
        if (path_of(dir, names[i], path, &ignored) == 0)
            (void)unlink(path); /* what stays makes the next step fail */
    }
}

static int make_schema(struct db_conn *c, struct err *e)
{
    int64_t version;
    char done[64];
    if (sql_number(c, "PRAGMA user_version", SQL_NOTHING, &version, e))
        return -1;
    if (version == TEXT_INDEX_VERSION)
        return 0;
    if (version != 0)
        return err_set(e, ERR_DAMAGED, "the index of words is of another version");
    (void)snprintf(done, sizeof done, "PRAGMA user_version = %d", TEXT_INDEX_VERSION);
    return conn_exec(c, "BEGIN IMMEDIATE", e) || conn_exec(c, schema, e) || conn_exec(c, done, e) ||
                   conn_exec(c, "COMMIT", e)
               ? -1
               : 0;
}

static int open_all(struct text_index *t, const char *path, struct err *e)
{
    if (make_file(path, e) || text_conn_open(&t->writer, path, /* is_reader= */ false, e) ||
        conn_exec(t->writer.db, setup, e) || make_schema(t->writer.db, e))
        return -1;
    for (size_t i = 0; i < TEXT_READERS; i++) {
        if (text_conn_open(&t->readers[i], path, /* is_reader= */ true, e) ||
            conn_exec(t->readers[i].db, reader_setup, e))
            return -1;
        t->readers[i].is_free = true;
    }
    return 0;
}

static void close_all(struct text_index *t)
{
    for (size_t i = 0; i < TEXT_READERS; i++)
        text_conn_close(&t->readers[i]);
    if (t->writer.db) /* so that no log is left behind; without, it is read again */
        (void)sqlite3_wal_checkpoint_v2(t->writer.db->sqlite, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                        NULL, NULL);
    text_conn_close(&t->writer);
}

int text_index_open(const char *dir, struct text_index **ret, struct err *e)
{
    char path[PATH_MAX];
    pthread_condattr_t monotonic;
    struct text_index *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, ERR_NO_MEMORY, "open the index of words");
    (void)pthread_mutex_init(&t->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_mutex_init(&t->pool_lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&t->pool_free, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    int failed = path_of(dir, "search.db", path, e);
    if (!failed && (failed = open_all(t, path, e)) && e->code == ERR_DAMAGED) {
        close_all(t);
        remove_files(dir);
        failed = open_all(t, path, e);
    }
    if (failed) {
        text_index_close(t);
        return err_wrap(e, "open the index of words");
    }
    *ret = t;
    return 0;
}

void text_index_close(struct text_index *t)
{
    if (!t)
        return;
    close_all(t);
    (void)pthread_cond_destroy(&t->pool_free);
    (void)pthread_mutex_destroy(&t->pool_lock);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- transactions ---- */

static void checkpoint(struct text_conn *c)
{
    int pages = 0;
    (void)sqlite3_wal_checkpoint_v2(c->db->sqlite, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, NULL);
    if (pages >
        TEXT_WAL_MAX / 4096) /* readers were in the way: the log begins anew when they let go */
        (void)sqlite3_wal_checkpoint_v2(c->db->sqlite, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
}

static int transact(struct text_conn *c, int (*body)(struct text_conn *c, void *arg, struct err *e),
                    void *arg, struct err *e)
{
    struct err ignored = {0};
    if (conn_exec(c->db, "BEGIN IMMEDIATE", e))
        return -1;
    if (body(c, arg, e) == 0 && conn_exec(c->db, "COMMIT", e) == 0)
        return 0;
    if (!sqlite3_get_autocommit(c->db->sqlite))
        (void)conn_exec(c->db, "ROLLBACK", &ignored);
    return -1;
}

int text_write(struct text_index *t, int (*body)(struct text_conn *c, void *arg, struct err *e),
               void *arg, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    int failed = transact(&t->writer, body, arg, e);
    if (!failed)
        checkpoint(&t->writer);
    pthread_mutex_unlock(&t->lock);
    return failed;
}

/* ---- readers ---- */

static struct text_conn *find_free(struct text_index *t)
{
    for (size_t i = 0; i < TEXT_READERS; i++)
        if (t->readers[i].is_free)
            return &t->readers[i];
    return NULL;
}

int text_read_take(struct text_index *t, struct text_conn **ret, struct err *e)
{
    int64_t until_us = clock_us() + TEXT_READ_WAIT_MS * 1000;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    struct text_conn *c;
    pthread_mutex_lock(&t->pool_lock);
    while (!(c = find_free(t)) &&
           pthread_cond_timedwait(&t->pool_free, &t->pool_lock, &until) != ETIMEDOUT)
        ;
    if (c)
        c->is_free = false;
    pthread_mutex_unlock(&t->pool_lock);
    if (!c)
        return err_set(e, ERR_OVERLOADED, "too many searches at once: try again in a moment");
    *ret = c;
    return 0;
}

void text_read_give(struct text_index *t, struct text_conn *c)
{
    pthread_mutex_lock(&t->pool_lock);
    c->is_free = true;
    (void)pthread_cond_signal(&t->pool_free);
    pthread_mutex_unlock(&t->pool_lock);
}
