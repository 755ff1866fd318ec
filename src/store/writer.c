/* The thread that writes: see db.h for what it promises. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/scope.h"
#include "store/db_int.h"

enum { GROUP_MAX = 1024, CHECKPOINT_WAIT_MS = 1000 };

/* ---- riders ---- */

/* Of each thread: what goes along with the next that it hands in (db.h says why it is no argument). */
static _Thread_local struct db_rider *riding;

struct db_rider *db_rider_set(struct db_rider *rider)
{
    struct db_rider *before = riding;
    riding = rider;
    return before;
}

void *db_rider_arg(struct db_conn *c)
{
    return c->rider_arg;
}

/* Lets this thread's rider on, if it has one that still waits. */
static struct db_rider *board(struct job *j)
{
    struct db_rider *rider = riding;
    if (!rider || rider->is_taken)
        return NULL;
    j->rider = *rider;
    return rider;
}

/* ---- handing in ---- */

static int fail_stopped(const struct db *db, struct err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "the store is read-only until the server is restarted: %s",
                   db->stop_why);
}

/* With the lock held. Fails, and nothing was handed in, when the store has stopped. */
static int enqueue(struct db *db, struct job *j, struct err *e)
{
    while (db->queued >= DB_QUEUE_MAX && !db->is_stopped)
        pthread_cond_wait(&db->room, &db->lock);
    if (db->is_stopped)
        return fail_stopped(db, e);
    assert(!db->is_closing);
    *db->last = j;
    db->last = &j->next;
    db->queued++;
    db->waiting += !j->is_posted;
    pthread_cond_signal(&db->work);
    return 0;
}

/* With the lock held. */
static int enqueue_and_wait(struct db *db, struct job *j, struct err *e)
{
    if (enqueue(db, j, e))
        return -1;
    while (!j->is_over)
        pthread_cond_wait(&j->over, &db->lock);
    if (j->result)
        *e = j->e;
    return j->result;
}

int db_write(struct db *db, db_job *fn, void *arg, struct err *e)
{
    struct job j = {.fn = fn, .arg = arg};
    struct db_rider *rider = fn ? board(&j) : NULL;
    if (cond_init(&j.over))
        return err_set(e, ERR_NO_MEMORY, "write to the database");
    pthread_mutex_lock(&db->lock);
    int result = enqueue_and_wait(db, &j, e);
    pthread_mutex_unlock(&db->lock);
    pthread_cond_destroy(&j.over);
    if (rider)
        rider->is_taken = result == 0;
    return result;
}

/* The rider's owner may not look at what it points to from the moment the lock is free: the writer may
 * be done with it by then. The rider itself is the owner's all the time. */
static int post(struct db *db, struct job *j, struct db_rider *rider, struct err *e)
{
    pthread_mutex_lock(&db->lock);
    int failed = enqueue(db, j, e);
    pthread_mutex_unlock(&db->lock);
    if (rider)
        rider->is_taken = rider->is_posted = failed == 0;
    return failed;
}

static int post_job(struct db *db, const struct job *what, bool takes_rider, struct err *e)
{
    struct job *j = malloc(sizeof *j);
    int failed = j ? 0 : err_set(e, ERR_NO_MEMORY, "write to the database");
    if (j) {
        *j = *what;
        j->due_us = clock_us() + DB_POST_DELAY_MS * 1000;
        failed = post(db, j, takes_rider ? board(j) : NULL, e);
    }
    if (failed) {
        free(j);
        if (what->done)
            what->done(what->arg);
    }
    return failed;
}

int db_post(struct db *db, db_job *fn, void *arg, void (*done)(void *arg), struct err *e)
{
    const struct job j = {.fn = fn, .arg = arg, .is_posted = true, .done = done};
    return post_job(db, &j, /* takes_rider= */ true, e);
}

int db_note(struct db *db, db_job *fn, void *arg, void (*done)(void *arg), struct err *e)
{
    const struct job j = {.fn = fn, .arg = arg, .is_posted = true, .done = done};
    return post_job(db, &j, /* takes_rider= */ false, e);
}

int db_settle(struct db *db, struct err *e)
{
    pthread_mutex_lock(&db->lock);
    bool is_settled = db->queued == 0 && !db->is_busy && !db->is_stopped;
    pthread_mutex_unlock(&db->lock);
    return is_settled ? 0 : db_write(db, /* job= */ NULL, /* arg= */ NULL, e);
}

/* ---- groups ---- */

/* One job in a savepoint of its own. False: the transaction itself is gone. */
static bool run_job(struct db_conn *c, struct job *j)
{
    j->result = 0;
    if (!j->fn)
        return true;
    if (sql_run(c, "SAVEPOINT job", SQL_NOTHING, &j->e)) {
        j->result = -1;
        return false;
    }
    c->rider_arg = j->rider.arg;
    j->result = j->fn(c, j->arg, &j->e);
    c->rider_arg = NULL;
    if (!j->result && j->rider.run && c->trouble == TROUBLE_NONE)
        j->result = j->rider.run(c, j->rider.arg, &j->e);
    if (c->trouble != TROUBLE_NONE || sqlite3_get_autocommit(c->sqlite))
        return false;
    struct err e = {0};
    if ((j->result && sql_run(c, "ROLLBACK TO job", SQL_NOTHING, &e)) ||
        sql_run(c, "RELEASE job", SQL_NOTHING, &e)) {
        if (!j->result)
            j->e = e;
        j->result = -1;
        return false;
    }
    return true;
}

/* Nothing of the group happened: everybody who does not know better is told why. */
static void fail_group(struct job *group, const struct err *why)
{
    for (struct job *j = group; j; j = j->next) {
        if (j->result == 0)
            j->e = *why;
        j->result = -1;
    }
}

static bool has_work(const struct job *group)
{
    for (const struct job *j = group; j; j = j->next)
        if (j->fn && j->result == 0)
            return true;
    return false;
}

/* All of them in one transaction. 0 when it is durable, even if single jobs failed. */
static int run_group(struct db_conn *c, struct job *group, struct err *e)
{
    c->trouble = TROUBLE_NONE;
    for (struct job *j = group; j; j = j->next)
        j->result = 0;
    if (sql_run(c, "BEGIN IMMEDIATE", SQL_NOTHING, e))
        goto fail;
    for (struct job *j = group; j; j = j->next)
        if (!run_job(c, j)) {
            *e = j->e;
            if (j->result == 0) /* it did not notice that its transaction ended under it */
                (void)err_set(e, ERR_INTERNAL, "a job ended the transaction");
            goto fail;
        }
    /* What was undone leaves dirty pages behind: not worth an fsync. */
    if (sql_run(c, has_work(group) ? "COMMIT" : "ROLLBACK", SQL_NOTHING, e))
        goto fail;
    return 0;

fail:
    if (!sqlite3_get_autocommit(c->sqlite)) {
        struct err ignored = {0};
        (void)conn_exec(c, "ROLLBACK", &ignored);
    }
    fail_group(group, e);
    return -1;
}

/* There was no room for all together; perhaps there is for some. */
static void run_one_by_one(struct db *db, struct job *group, struct err *e)
{
    for (struct job *j = group, *next; j && db->writer->trouble != TROUBLE_FATAL; j = next) {
        next = j->next;
        j->next = NULL;
        struct err why = {0};
        if (run_group(db->writer, j, &why) && db->writer->trouble == TROUBLE_FATAL)
            *e = why;
        j->next = next;
    }
}

static void stop(struct db *db, const struct err *why)
{
    pthread_mutex_lock(&db->lock);
    bool is_first = !db->is_stopped;
    db->is_stopped = true;
    if (is_first)
        (void)snprintf(db->stop_why, sizeof db->stop_why, "%.199s", why->text);
    pthread_cond_broadcast(&db->room);
    pthread_mutex_unlock(&db->lock);
    if (is_first && db->options.on_stop)
        db->options.on_stop(db->options.arg, db->stop_why);
}

/* ---- the log ---- */

static uint64_t wal_bytes(const struct db *db)
{
    return (uint64_t)db->writer->wal_pages * 4096;
}

/* Some of it is the log's at once, before others see it. */
static bool make_room(struct db *db)
{
    if (!db->options.make_room || !db->options.make_room(db->options.arg))
        return false;
    db_reserve_log(db, wal_bytes(db) + DB_LOG_MORE);
    return true;
}

static int on_commit(void *arg, sqlite3 *sqlite, const char *name, int pages)
{
    (void)sqlite;
    (void)name;
    struct db_conn *c = arg;
    c->wal_pages = pages;
    c->commits++;
    return SQLITE_OK;
}

/* Moves the log into the database. Readers that still need it are waited for only in `mode` RESTART
 * or TRUNCATE, and then at most a second. True: all of it is there, and the next transaction begins
 * the log anew, in the same blocks. */
static bool checkpoint(struct db *db, int mode)
{
    struct db_conn *c = db->writer;
    c->trouble = TROUBLE_NONE;
    (void)sqlite3_busy_timeout(c->sqlite, CHECKPOINT_WAIT_MS);
    int in_log = 0, moved = 0;
    errno = 0;
    int rc = sqlite3_wal_checkpoint_v2(c->sqlite, "main", mode, &in_log, &moved);
    struct err e = {0};
    if (rc != SQLITE_OK && rc != SQLITE_BUSY)
        (void)conn_fail(c, rc, &e);
    (void)sqlite3_busy_timeout(c->sqlite, CONN_BUSY_MS);
    if (c->trouble == TROUBLE_FATAL)
        stop(db, &e);
    bool is_whole = rc == SQLITE_OK && in_log == moved;
    if (is_whole)
        c->wal_pages = 0;
    return is_whole;
}

static bool finds_no_room(struct db *db, struct job *group, struct err *e)
{
    return run_group(db->writer, group, e) && db->writer->trouble == TROUBLE_FULL;
}

/* On a full disk the log is begun anew, where it has blocks, before the ballast is given up. */
static void commit(struct db *db, struct job *group)
{
    struct err e = {0};
    if (db->is_stopped) { /* only this thread writes it */
        (void)fail_stopped(db, &e);
        for (struct job *j = group; j; j = j->next)
            j->result = 0;
        fail_group(group, &e);
        return;
    }
    bool is_full = finds_no_room(db, group, &e);
    if (is_full && checkpoint(db, SQLITE_CHECKPOINT_RESTART))
        is_full = finds_no_room(db, group, &e);
    if (is_full && !db->is_stopped && make_room(db))
        is_full = finds_no_room(db, group, &e);
    if (is_full && !db->is_stopped && group->next)
        run_one_by_one(db, group, &e);
    if (db->writer->trouble == TROUBLE_FATAL)
        stop(db, &e);
}

static void check_log(struct db *db)
{
    uint64_t size = wal_bytes(db);
    if (size < DB_WAL_SOFT || db->is_stopped)
        return;
    (void)checkpoint(db,
                     size < DB_WAL_HARD ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_RESTART);
    pthread_mutex_lock(&db->lock);
    db->stats.checkpoints++;
    pthread_mutex_unlock(&db->lock);
}

/* ---- the thread ---- */

/* With the lock held: waits until there is something to do. False: it is time to end. */
static bool wait_for_work(struct db *db)
{
    while (!db->first && !db->is_closing)
        pthread_cond_wait(&db->work, &db->lock);
    if (!db->first)
        return false;
    struct timespec due = timespec_of(db->first->due_us);
    while (db->waiting == 0 && !db->is_closing && db->queued < DB_QUEUE_MAX / 2)
        if (pthread_cond_timedwait(&db->work, &db->lock, &due))
            break;
    return true;
}

/* With the lock held: what waits, at most GROUP_MAX. */
static struct job *take_group(struct db *db)
{
    struct job *group = db->first, **last = &db->first;
    for (size_t i = 0; i < GROUP_MAX && *last; i++) {
        db->queued--;
        db->waiting -= !(*last)->is_posted;
        last = &(*last)->next;
    }
    db->first = *last;
    *last = NULL;
    if (!db->first)
        db->last = &db->first;
    db->is_busy = true;
    return group;
}

static void count(struct db *db, const struct job *group)
{
    for (const struct job *j = group; j; j = j->next) {
        db->stats.jobs += j->result == 0 && j->fn;
        db->stats.failed += j->result != 0;
        db->stats.lost += j->result != 0 && j->is_posted;
    }
    db->stats.commits = db->writer->commits;
    db->stats.wal_bytes = wal_bytes(db);
}

/* With the lock held: tells those who wait, and gives back those that were posted. The list runs
 * through the stacks of the former, who may leave as soon as the lock is free. */
static struct job *tell(struct job *group)
{
    struct job *posted = NULL, **last = &posted;
    for (struct job *j = group, *next; j; j = next) {
        next = j->next;
        j->next = NULL;
        if (j->is_posted) {
            *last = j;
            last = &j->next;
        } else {
            j->is_over = true;
            pthread_cond_signal(&j->over);
        }
    }
    return posted;
}

static void end_posted(struct db *db, struct job *posted)
{
    for (struct job *j = posted, *next; j; j = next) {
        next = j->next;
        if (j->result && db->options.on_lost)
            db->options.on_lost(db->options.arg, j->e.text);
        if (j->done)
            j->done(j->arg);
        if (j->rider.done)
            j->rider.done(j->rider.arg);
        free(j);
    }
}

void *writer_main(void *arg)
{
    struct db *db = arg;
    sqlite3_wal_hook(db->writer->sqlite, on_commit, db->writer);
    pthread_mutex_lock(&db->lock);
    while (wait_for_work(db)) {
        struct job *group = take_group(db);
        pthread_cond_broadcast(&db->room);
        pthread_mutex_unlock(&db->lock);

        uint64_t commits = db->writer->commits;
        commit(db, group);

        pthread_mutex_lock(&db->lock);
        count(db, group);
        struct job *posted = tell(group);
        db->is_busy = false;
        pthread_mutex_unlock(&db->lock);

        end_posted(db, posted);
        if (db->writer->commits != commits && db->options.on_commit)
            db->options.on_commit(db->options.arg);
        check_log(db);
        pthread_mutex_lock(&db->lock);
    }
    pthread_mutex_unlock(&db->lock);
    if (!db->is_stopped)
        (void)checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE);
    db_reserve_log(db, DB_LOG_ROOM); /* for the next one to begin with: that gave the blocks back */
    return NULL;
}
