#include "store/db.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/scope.h"
#include "store/db_int.h"

int cond_init(pthread_cond_t *c)
{
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic))
        return -1;
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(c, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return failed ? -1 : 0;
}

struct timespec timespec_of(int64_t deadline_us)
{
    return (struct timespec){.tv_sec = deadline_us / 1000000,
                             .tv_nsec = deadline_us % 1000000 * 1000};
}

/* ---- opening ---- */

/* The file is made here, so that it is nobody else's from the beginning; SQLite gives its log the
 * same mode. */
static int make_file(const char *dir, struct err *e)
{
    scoped(fd_closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return err_sys(e, errno, "open the data directory");
    scoped(fd_closep) int fd =
        openat(dir_fd, "meta.db", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return 0;
    if (fd < 0)
        return err_sys(e, errno, "make the database");
    if (fsync(dir_fd))
        return err_sys(e, errno, "make the database durable");
    return 0;
}

static int apply(struct db_conn *c, const char *migration, size_t number, struct err *e)
{
    char done[64];
    (void)snprintf(done, sizeof done, "PRAGMA user_version = %zu", number);
    if (conn_exec(c, "BEGIN IMMEDIATE", e) == 0 && conn_exec(c, migration, e) == 0 &&
        conn_exec(c, done, e) == 0 && conn_exec(c, "COMMIT", e) == 0)
        return 0;
    struct err ignored = {0};
    if (!sqlite3_get_autocommit(c->sqlite))
        (void)conn_exec(c, "ROLLBACK", &ignored);
    return err_wrap(e, "bring the database to version %zu", number);
}

int db_migrate(struct db_conn *c, const char *const *migrations, size_t count, struct err *e)
{
    int64_t version;
    if (sql_number(c, "PRAGMA user_version", SQL_NOTHING, &version, e))
        return -1;
    if (version < 0 || (uint64_t)version > count)
        return err_set(e, ERR_CONFLICT,
                       "the data directory was written by a newer cicada (version %lld of the "
                       "database, this one knows %zu): run that one, or choose another directory",
                       (long long)version, count);
    for (size_t i = (size_t)version; i < count; i++)
        if (apply(c, migrations[i], i + 1, e))
            return -1;
    return 0;
}

/* What an older program wrote is its own, or a server's, to change. */
static int check_current(struct db_conn *c, size_t count, struct err *e)
{
    int64_t version;
    if (sql_number(c, "PRAGMA user_version", SQL_NOTHING, &version, e))
        return -1;
    return (uint64_t)version >= count
               ? 0
               : err_set(e, ERR_CONFLICT,
                         "the data directory was written by an older cicada: "
                         "start a server with it first");
}

static int open_connections(struct db *db, const struct db_options *options, struct err *e)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/meta.db", options->dir);
    if (len < 0 || (size_t)len >= sizeof path)
        return err_set(e, ERR_INVALID, "the path of the data directory is too long");
    if (options->is_check && access(path, F_OK))
        return err_set(e, ERR_NOT_FOUND, "there is no database in the data directory");
    if (!options->is_check && make_file(options->dir, e))
        return -1;
    db->writer = conn_open(path, options->vfs, /* is_reader= */ false, e);
    if (!db->writer ||
        (options->is_check && check_current(db->writer, options->migration_count, e)) ||
        db_migrate(db->writer, options->migrations, options->migration_count, e))
        return -1;
    for (size_t i = 0; i < DB_READERS_MAX; i++) {
        db->readers[i] = conn_open(path, options->vfs, /* is_reader= */ true, e);
        if (!db->readers[i])
            return -1;
        db->readers[i]->owner = db;
        db->readers[i]->is_free = true;
    }
    return 0;
}

/* ---- room for the log ---- */

enum { INDEX_ROOM = 256 << 10 }; /* of a log of 128 MiB */

static void reserve(int fd, uint64_t bytes)
{
    if (fd >= 0)
        (void)fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
}

void db_reserve_log(struct db *db, uint64_t log_bytes)
{
    reserve(db->log_fd, log_bytes);
    reserve(db->index_fd, INDEX_ROOM);
}

bool db_give_log_room(const char *dir)
{
    char path[PATH_MAX];
    struct stat before, after;
    if (snprintf(path, sizeof path, "%s/meta.db-wal", dir) >= (int)sizeof path)
        return false;
    scoped(fd_closep) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && fstat(fd, &before) == 0 && ftruncate(fd, before.st_size) == 0 &&
           fsync(fd) == 0 && fstat(fd, &after) == 0 && after.st_blocks < before.st_blocks;
}

/* Closing a descriptor of the index would end the locks that SQLite has on it: these stay open for
 * longer than any connection. SQLite has made both files by now. */
static void open_log(struct db *db)
{
    char path[PATH_MAX];
    enum { FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW };
    if (!db->options.has_log_room || db->options.is_check)
        return;
    if (snprintf(path, sizeof path, "%s/meta.db-wal", db->options.dir) < (int)sizeof path)
        db->log_fd = open(path, FLAGS);
    if (snprintf(path, sizeof path, "%s/meta.db-shm", db->options.dir) < (int)sizeof path)
        db->index_fd = open(path, FLAGS);
    db_reserve_log(db, DB_LOG_ROOM);
}

int db_open(const struct db_options *options, struct db **ret, struct err *e)
{
    assert(sqlite3_threadsafe());
    struct db *db = calloc(1, sizeof *db);
    if (!db)
        return err_set(e, ERR_NO_MEMORY, "open the database");
    db->options = *options;
    db->last = &db->first;
    db->log_fd = db->index_fd = -1;
    pthread_mutex_init(&db->lock, NULL);
    pthread_mutex_init(&db->pool_lock, NULL);
    if (cond_init(&db->work) || cond_init(&db->room) || cond_init(&db->pool_free)) {
        (void)err_set(e, ERR_NO_MEMORY, "open the database");
        goto fail;
    }
    if (open_connections(db, options, e))
        goto fail;
    open_log(db);
    int failed = pthread_create(&db->thread, NULL, writer_main, db);
    if (failed) {
        (void)err_sys(e, failed, "start the thread that writes");
        goto fail;
    }
    db->has_thread = true;
    *ret = db;
    return 0;

fail:
    db_close(db);
    return -1;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    if (db->has_thread) {
        pthread_mutex_lock(&db->lock);
        db->is_closing = true;
        pthread_cond_signal(&db->work);
        pthread_mutex_unlock(&db->lock);
        pthread_join(db->thread, NULL);
    }
    for (size_t i = 0; i < DB_READERS_MAX; i++)
        conn_close(db->readers[i]);
    conn_close(db->writer);
    fd_closep(&db->log_fd);
    fd_closep(&db->index_fd);
    pthread_cond_destroy(&db->work);
    pthread_cond_destroy(&db->room);
    pthread_cond_destroy(&db->pool_free);
    pthread_mutex_destroy(&db->lock);
    pthread_mutex_destroy(&db->pool_lock);
    free(db);
}

/* ---- reading ---- */

static struct db_conn *take_reader(struct db *db)
{
    for (size_t i = 0; i < DB_READERS_MAX; i++)
        if (db->readers[i]->is_free) {
            db->readers[i]->is_free = false;
            return db->readers[i];
        }
    return NULL;
}

static void give_back(struct db_conn *c)
{
    struct db *db = c->owner;
    pthread_mutex_lock(&db->pool_lock);
    c->is_free = true;
    pthread_cond_signal(&db->pool_free);
    pthread_mutex_unlock(&db->pool_lock);
}

int db_read_begin(struct db *db, struct db_conn **ret, struct err *e)
{
    struct timespec until = timespec_of(clock_us() + DB_READ_WAIT_MS * 1000);
    struct db_conn *c;
    int late = 0;
    pthread_mutex_lock(&db->pool_lock);
    while (!(c = take_reader(db)) && !late)
        late = pthread_cond_timedwait(&db->pool_free, &db->pool_lock, &until);
    pthread_mutex_unlock(&db->pool_lock);
    if (!c)
        return err_set(e, ERR_OVERLOADED, "all connections to the database are in use");
    if (sql_run(c, "BEGIN", SQL_NOTHING, e)) {
        give_back(c);
        return -1;
    }
    *ret = c;
    return 0;
}

void db_read_end(struct db_conn *c)
{
    struct err ignored = {0}; /* nothing was written that could fail */
    (void)sql_run(c, "ROLLBACK", SQL_NOTHING, &ignored);
    give_back(c);
}

bool db_is_stopped(struct db *db)
{
    pthread_mutex_lock(&db->lock);
    bool is_stopped = db->is_stopped;
    pthread_mutex_unlock(&db->lock);
    return is_stopped;
}

void db_stats(struct db *db, struct db_stats *ret)
{
    pthread_mutex_lock(&db->lock);
    *ret = db->stats;
    ret->queued = db->queued;
    pthread_mutex_unlock(&db->lock);
}
