#include "store/db.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/db_fixture.h"

/* ---- life ---- */

static void a_database_is_made_private_and_survives(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct db *db = open_db(s.path);
    struct row r = {.k = 1, .size = 10};
    OK(db_write(db, put, &r, e));
    struct stat st;
    const char *const names[] = {"meta.db", "meta.db-wal", "meta.db-shm"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fstatat(s.fd, names[i], &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    db_close(db);
    db = open_db(s.path);
    assert_int_equal(rows(db), 1);
    db_close(db);
}

static void migrations_are_applied_in_order_and_once(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct db *db = open_with(s.path, 1, NULL);
    assert_int_equal(number(db, "PRAGMA user_version"), 1);
    db_close(db);
    for (int i = 0; i < 2; i++) {
        db = open_with(s.path, 2, NULL);
        assert_int_equal(number(db, "PRAGMA user_version"), 2);
        assert_int_equal(number(db, "SELECT k FROM u"), 7);
        db_close(db);
    }
}

static void a_migration_that_fails_leaves_the_version_before(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    static const char *const broken[] = {"CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB) STRICT",
                                         "CREATE TABLE x (k); INSERT INTO nowhere VALUES (1)"};
    struct db_options o = {.dir = s.path, .migrations = broken, .migration_count = 2};
    struct db *db;
    FAILS(ERR_INTERNAL, db_open(&o, &db, e));
    db = open_with(s.path, 1, NULL);
    assert_int_equal(number(db, "PRAGMA user_version"), 1);
    assert_int_equal(number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'x'"), 0);
    db_close(db);
}

static void a_database_of_a_newer_program_is_refused(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    db_close(open_with(s.path, 2, NULL));
    struct db_options o = {.dir = s.path, .migrations = schema, .migration_count = 1};
    struct db *db;
    struct err e = {0};
    assert_int_equal(db_open(&o, &db, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_non_null(strstr(e.text, "newer cicada"));
}

static void what_is_no_database_is_refused(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    scratch_write(&s, "meta.db", text);
    struct db_options o = {.dir = s.path, .migrations = schema, .migration_count = 1};
    struct db *db;
    FAILS(ERR_DAMAGED, db_open(&o, &db, e));
    o.dir = "/nowhere/at/all";
    FAILS(ERR_NOT_FOUND, db_open(&o, &db, e));
}

/* ---- jobs ---- */

static void a_job_that_fails_is_undone_alone(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct row r[3] = {{.k = 1}, {.k = 2}, {.k = 3}};
    atomic_store(&losses, 0);
    OK(db_post(db, put, &r[0], NULL, e)); /* these three are one group */
    OK(db_post(db, put_and_fail, &r[1], NULL, e));
    OK(db_write(db, put, &r[2], e));
    assert_int_equal(rows(db), 2);
    assert_int_equal(number(db, "SELECT count(*) FROM t WHERE k = 2"), 0);
    FAILS(ERR_DENIED, db_write(db, put_and_fail, &r[1], e));
    FAILS(ERR_CONFLICT, db_write(db, put, &r[0], e)); /* exists */
    assert_int_equal(rows(db), 2);
    OK(db_settle(db, e));
    struct db_stats stats;
    db_stats(db, &stats);
    assert_int_equal(stats.jobs, 2);
    assert_int_equal(stats.failed, 3);
    assert_int_equal(stats.lost, 1);
    assert_int_equal(stats.commits, 1);
    assert_false(db_is_stopped(db));
    db_close(db);
    assert_int_equal(atomic_load(&losses), 1);
}

static _Atomic int freed;

static void count_free(void *arg)
{
    free(arg);
    atomic_fetch_add(&freed, 1);
}

static void post(struct db *db, int64_t k)
{
    struct row *r = malloc(sizeof *r);
    assert_non_null(r);
    *r = (struct row){.k = k};
    OK(db_post(db, put, r, count_free, e));
}

static void what_is_posted_is_durable_within_50_ms_and_freed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    atomic_store(&freed, 0);
    int64_t best_us = INT64_MAX;
    for (int i = 0; i < 20 && best_us > 50000; i++) { /* the machine may be busy */
        int64_t begun_us = clock_us();
        post(db, i);
        while (rows(db) == i)
            usleep(500);
        int64_t took_us = clock_us() - begun_us;
        best_us = took_us < best_us ? took_us : best_us;
    }
    assert_true(best_us <= 50000);
    assert_true(best_us >= DB_POST_DELAY_MS * 1000 / 2); /* it did wait for company */
    int64_t count = rows(db);
    post(db, 1000);
    OK(db_settle(db, e)); /* at once, and it is there */
    assert_int_equal(rows(db), count + 1);
    post(db, 1001);
    db_close(db); /* loses nothing */
    db = open_db(s.path);
    assert_int_equal(rows(db), count + 2);
    assert_int_equal(atomic_load(&freed), count + 2);
    db_close(db);
}

static void jobs_run_in_the_order_they_came(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    for (int64_t k = 0; k < 500; k++)
        post(db, k);
    struct row last = {.k = 500};
    OK(db_write(db, put, &last, e));
    assert_int_equal(rows(db), 501); /* all that were posted before are there */
    db_close(db);
}

static void a_full_queue_waits_and_loses_nothing(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    for (int64_t k = 0; k < 3 * DB_QUEUE_MAX; k++) {
        post(db, k);
        struct db_stats stats;
        db_stats(db, &stats);
        assert_true(stats.queued <= DB_QUEUE_MAX);
    }
    OK(db_settle(db, e));
    assert_int_equal(rows(db), 3 * DB_QUEUE_MAX);
    db_close(db);
}

/* ---- many at once ---- */

enum { THREADS = 8, EACH = 100 };

struct worker {
    pthread_t thread;
    struct db *db;
    int64_t base;
    int failed;
};

static void *write_many(void *arg)
{
    struct worker *w = arg;
    for (int64_t i = 0; i < EACH; i++) {
        struct row r = {.k = w->base + i, .size = 100};
        struct err e = {0};
        w->failed |=
            db_write(w->db, i % 10 == 9 ? put_and_fail : put, &r, &e) != (i % 10 == 9) * -1;
        struct db_conn *c; /* what was acknowledged can be read at once */
        int64_t found = 0;
        w->failed |= db_read_begin(w->db, &c, &e);
        w->failed |= sql_number(c, "SELECT count(*) FROM t WHERE k = ?1", SQL_WITH(SQL_INT(r.k)),
                                &found, &e);
        db_read_end(c);
        w->failed |= found != (i % 10 != 9);
    }
    return NULL;
}

static void many_writers_get_what_they_wrote(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct db *db = open_db(s.path);
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.db = db, .base = i * 1000};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, write_many, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_false(workers[i].failed);
    }
    assert_int_equal(rows(db), THREADS * EACH * 9 / 10);
    struct db_stats stats;
    db_stats(db, &stats);
    assert_int_equal(stats.jobs, THREADS * EACH * 9 / 10);
    assert_true(stats.commits <= stats.jobs);
    db_close(db);
}

/* A job that holds the writer until it is let go, so that a group can gather behind it. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_in, is_open;
};

static int hold(struct db_conn *c, void *arg, struct err *e)
{
    (void)c;
    (void)e;
    struct gate *g = arg;
    pthread_mutex_lock(&g->lock);
    g->is_in = true;
    pthread_cond_broadcast(&g->changed);
    while (!g->is_open)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return 0;
}

static void *hold_main(void *arg)
{
    struct worker *w = arg;
    struct err e = {0};
    w->failed = db_write(w->db, hold, (void *)w->base, &e);
    return NULL;
}

static void everything_that_waits_goes_with_one_commit(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct gate g = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct worker holder = {.db = db, .base = (int64_t)(intptr_t)&g};
    assert_int_equal(pthread_create(&holder.thread, NULL, hold_main, &holder), 0);
    pthread_mutex_lock(&g.lock);
    while (!g.is_in)
        pthread_cond_wait(&g.changed, &g.lock);
    for (int64_t k = 0; k < 200; k++)
        post(db, k);
    g.is_open = true;
    pthread_cond_broadcast(&g.changed);
    pthread_mutex_unlock(&g.lock);
    pthread_join(holder.thread, NULL);
    OK(db_settle(db, e));
    struct db_stats stats;
    db_stats(db, &stats);
    assert_int_equal(stats.commits, 1); /* the holder wrote nothing; the 200 are one */
    assert_int_equal(rows(db), 200);
    db_close(db);
}

static void a_reader_keeps_its_snapshot(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct row r = {.k = 1};
    OK(db_write(db, put, &r, e));
    struct db_conn *c;
    int64_t before, after;
    OK(db_read_begin(db, &c, e));
    OK(sql_number(c, "SELECT count(*) FROM t", SQL_NOTHING, &before, e));
    r.k = 2;
    OK(db_write(db, put, &r, e));
    OK(sql_number(c, "SELECT count(*) FROM t", SQL_NOTHING, &after, e));
    FAILS(ERR_DENIED, sql_run(c, "DELETE FROM t", SQL_NOTHING, e)); /* and cannot write */
    db_read_end(c);
    assert_int_equal(before, 1);
    assert_int_equal(after, 1);
    assert_int_equal(rows(db), 2);
    db_close(db);
}

static void the_log_is_moved_into_the_database_and_does_not_grow_for_ever(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    for (int64_t k = 0; k < 60; k++) {
        struct row r = {.k = k, .size = 1 << 20};
        OK(db_write(db, put, &r, e));
    }
    OK(db_settle(db, e));
    struct db_stats stats;
    db_stats(db, &stats);
    assert_true(stats.checkpoints >= 2);
    struct stat st;
    assert_int_equal(fstatat(s.fd, "meta.db-wal", &st, 0), 0);
    assert_true(st.st_size < 32 << 20);
    db_close(db);
    assert_true(fstatat(s.fd, "meta.db-wal", &st, 0) != 0 || st.st_size == 0);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_database_is_made_private_and_survives),
        cmocka_unit_test(migrations_are_applied_in_order_and_once),
        cmocka_unit_test(a_migration_that_fails_leaves_the_version_before),
        cmocka_unit_test(a_database_of_a_newer_program_is_refused),
        cmocka_unit_test(what_is_no_database_is_refused),
        cmocka_unit_test(a_job_that_fails_is_undone_alone),
        cmocka_unit_test(what_is_posted_is_durable_within_50_ms_and_freed),
        cmocka_unit_test(jobs_run_in_the_order_they_came),
        cmocka_unit_test(a_full_queue_waits_and_loses_nothing),
        cmocka_unit_test(many_writers_get_what_they_wrote),
        cmocka_unit_test(everything_that_waits_goes_with_one_commit),
        cmocka_unit_test(a_reader_keeps_its_snapshot),
        cmocka_unit_test(the_log_is_moved_into_the_database_and_does_not_grow_for_ever),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
