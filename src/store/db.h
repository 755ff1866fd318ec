/* db.h -- DATA/meta.db: SQLite with one thread that writes.
 *
 * Theory of operation. One thread owns the only connection that writes, and it alone makes
 * checkpoints: SQLite before 3.51.3 can damage a database when two connections do either at the
 * same time. Others hand it jobs:
 *
 *     db_write(db, job, arg, e)       returns when the job's transaction is durable, or failed
 *     db_post(db, job, arg, done, e)  returns at once; the transaction is durable within 50 ms
 *
 * The thread takes everything that waits, runs it job by job inside one BEGIN IMMEDIATE ... COMMIT,
 * and then tells all who wait: one fsync for the whole group. Every job has a savepoint of its own,
 * so a job that fails is undone alone. Jobs run in the order in which they were handed in, so what
 * was posted before a db_write is durable when that returns.
 *
 * Order of durability: a row that names bytes elsewhere (a pack, a sleeping session's file) is
 * handed in only after those bytes and their directory entry were synced; the answer that names the
 * row leaves only after db_write returned. What was posted may be lost by a crash in the next 50
 * ms, and nothing handed in later can survive when something posted earlier did not.
 *
 * Failure. A write or fsync that the disk refuses (SQLITE_IOERR, SQLITE_CORRUPT) stops the store:
 * after a failed fsync nobody knows what is on the disk, so nothing is retried (the kernel drops
 * the dirty pages and the next fsync succeeds, which is a lie). Every later write fails with
 * ERR_UNAVAILABLE, and `on_stop` is called once.
 *
 * A full disk is no such error. What did not fit is tried again after a checkpoint, since the log
 * then begins anew in blocks that it has, and after `make_room`; without room it fails with
 * ERR_NO_SPACE, is undone, and the next one may work again. That holds for a sync, too, on file
 * systems that look for room only then: what such a sync loses are blocks that were never
 * allocated, so what was durable before still is. The log is written again from the end of the last
 * transaction, and what a checkpoint was about to move is still in it.
 *
 * Readers use a pool of read-only connections. Each read is a snapshot and does not wait for the
 * writer; it sees what is committed.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct db_conn; /* store/sql.h: how a job or a reader talks to it */
struct err;

enum {
    DB_READERS_MAX = 8,      /* connections */
    DB_QUEUE_MAX = 4096,     /* jobs that wait; whoever brings one more waits until there is room */
    DB_POST_DELAY_MS = 20,   /* how long a posted job waits for company */
    DB_WAL_SOFT = 16 << 20,  /* checkpoint from here on, as far as readers let us */
    DB_WAL_HARD = 64 << 20,  /* wait for readers, at most a second */
    DB_LOG_ROOM = 24 << 20,  /* allocated to the log beforehand (has_log_room) */
    DB_LOG_MORE = 4 << 20,   /* and beyond what is in it, once room was made */
    DB_READ_WAIT_MS = 10000, /* for a free connection */
};

/* A migration takes the schema from version `index` to `index + 1`. Text is never changed once it
 * was released: add another. */
struct db_options {
    const char *dir; /* DATA; exists */
    bool is_check;   /* nothing is made or migrated: ERR_NOT_FOUND, ERR_CONFLICT */
    /* Blocks are allocated to the log and its index before they are needed, so that some thousand
     * small writes go on whatever others do to the disk; after a checkpoint the log begins anew in
     * the same blocks. As far as there is room. */
    bool has_log_room;
    const char *const *migrations;
    size_t migration_count;
    /* Called on the writer's thread when the disk is full: true when there may be room now. May
     * wait for the disk. May be NULL. */
    bool (*make_room)(void *arg);
    /* Called on the writer's thread: once, when the store has stopped; and for every posted job
     * that failed. Must not wait. May be NULL. */
    void (*on_stop)(void *arg, const char *why);
    void (*on_lost)(void *arg, const char *why);
    /* Likewise after every commit, when those who waited for it have been told. */
    void (*on_commit)(void *arg);
    void *arg;
    const char *vfs; /* NULL: the system's; tests have one that fails */
};

/* Opens or makes DATA/meta.db (0600) and brings its schema up to date. Fails with ERR_CONFLICT when
 * a newer program wrote it, ERR_DAMAGED when it is not a database. Blocks on disk. */
int db_open(const struct db_options *options, struct db **ret, struct err *e);

/* Gives back the blocks that the log of a database that is not open has beyond its end: for when
 * there is no room to open it. True: it had some. */
bool db_give_log_room(const char *dir);

/* Runs what is queued, makes a checkpoint and closes. Nobody uses it any more. NULL is fine. */
void db_close(struct db *db);

/* A job runs on the writer's thread inside a transaction. It returns 0, or -1 with *e set, and then
 * everything it did is undone. It must not wait for anything. When there was no room for its group
 * it is run again: with the others after room was made, then alone. */
typedef int db_job(struct db_conn *c, void *arg, struct err *e);

/* Runs `job` and waits until what it did is durable. Fails with what the job failed with,
 * ERR_NO_SPACE, or ERR_UNAVAILABLE. Blocks on disk. */
int db_write(struct db *db, db_job *job, void *arg, struct err *e);

/* Hands in a job and goes on. done(arg) is called in every case when it is over, here or on the
 * writer's thread, to free `arg`; may be NULL. Fails with ERR_UNAVAILABLE or ERR_NO_MEMORY. Blocks
 * while the queue is full. Of a job that fails only on_lost hears. */
int db_post(struct db *db, db_job *job, void *arg, void (*done)(void *arg), struct err *e);

/* A rider goes along with what a thread hands in: it runs right after the job, in its savepoint, so
 * that both happen or neither does. For what has to be told of whatever a request changes (the audit),
 * wherever in the layers below that is done: it cannot be forgotten there.
 *
 *     db_rider_set(&rider)             for this thread; nests: keep what it returns
 *     ... db_write, db_post ...        the first that is handed in takes it
 *     db_rider_set(before)             true in rider.is_taken: it was, or will be, done
 *
 * It is the thread's and no argument, because the layers between whoever answers a request and the job
 * that changes something would all have to hand it on, and the one that forgot to would change
 * something untold. Whoever hands in what changes nothing worth telling sets none meanwhile.
 *
 * One that went with a db_write which failed is not taken: the next may take it. What db_note hands in
 * takes none. `run` and `arg` have to live until the rider is over: taken by db_write, when that
 * returns; taken by db_post, when `done` is called, on the writer's thread. Not taken: it stays its
 * owner's, and `done` is not called. The struct itself only its thread touches. The job may reach its
 * rider by db_rider_arg, to fill it in; a job that is run again fills it in again. */
struct db_rider {
    db_job *run;
    void *arg;
    void (*done)(void *arg); /* of one that was posted */
    bool is_taken;
    bool is_posted; /* and done will be called */
};
struct db_rider *db_rider_set(struct db_rider *rider);
void *db_rider_arg(struct db_conn *c); /* in a job: of what rides along; NULL: nothing */

/* Like db_post, without a rider: for what happens on the way (when a key was used, ...). */
int db_note(struct db *db, db_job *job, void *arg, void (*done)(void *arg), struct err *e);

/* Waits until everything handed in before is durable; costs nothing when that is so already. Call
 * it before reading what was just posted. Fails like db_write. */
int db_settle(struct db *db, struct err *e);

/* A connection for reading, and a snapshot that lasts until db_read_end. Keep it short: the log
 * cannot shrink meanwhile. Fails with ERR_OVERLOADED when none becomes free in time. */
int db_read_begin(struct db *db, struct db_conn **ret, struct err *e);
void db_read_end(struct db_conn *c);
static inline void db_read_endp(struct db_conn **c)
{
    if (*c)
        db_read_end(*c);
}

bool db_is_stopped(struct db *db);

struct db_stats {
    uint64_t commits; /* transactions */
    uint64_t jobs;    /* that were committed in them */
    uint64_t failed;  /* that were undone */
    uint64_t lost;    /* of these, posted ones: nobody was told */
    uint64_t checkpoints;
    uint64_t wal_bytes; /* of the log, after the last commit */
    uint64_t queued;    /* jobs that wait now */
};

void db_stats(struct db *db, struct db_stats *ret);

#endif
