/* Processes that are killed, disks that fail, disks that are full. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/scope.h"
#include "base/scratch.h"
#include "store/db_fixture.h"

/* Writes rows and says so, until it is killed. */
static void write_for_ever(const char *dir, int ack_fd)
{
    struct db_options o = {.dir = dir, .migrations = schema, .migration_count = 2};
    struct db *db;
    struct err e = {0};
    if (db_open(&o, &db, &e))
        _exit(1);
    int64_t first;
    struct db_conn *c;
    if (db_read_begin(db, &c, &e) ||
        sql_number(c, "SELECT coalesce(max(k), 0) FROM t", SQL_NOTHING, &first, &e))
        _exit(2);
    db_read_end(c);
    for (int64_t k = first + 1;; k++) {
        struct row *posted = malloc(sizeof *posted);
        *posted = (struct row){.k = -k - 1000000};
        struct row r = {.k = k, .size = (size_t)(k % 7) * 1000};
        if (k % 3 == 0)
            (void)db_post(db, put, posted, free, &e);
        else
            free(posted);
        if (db_write(db, put, &r, &e) || write(ack_fd, &k, sizeof k) != sizeof k)
            _exit(3);
    }
}

static void every_acknowledged_row_survives_a_kill(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    int64_t acked = 0;
    for (int round = 0; round < 20; round++) {
        int pipe_fds[2];
        assert_int_equal(pipe(pipe_fds), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(pipe_fds[0]);
            write_for_ever(s.path, pipe_fds[1]);
        }
        close(pipe_fds[1]);
        int64_t k;
        for (int acks = 0; acks < 5 + round * 7; acks++) {
            assert_int_equal(read(pipe_fds[0], &k, sizeof k), sizeof k);
            acked = k;
        }
        kill(child, SIGKILL);
        while (read(pipe_fds[0], &k, sizeof k) == sizeof k)
            acked = k; /* acknowledged before it died */
        close(pipe_fds[0]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));

        struct db *db = open_db(s.path);
        assert_int_equal(number(db, "SELECT count(*) FROM pragma_integrity_check"
                                    " WHERE integrity_check = 'ok'"),
                         1);
        struct db_conn *c;
        int64_t found;
        OK(db_read_begin(db, &c, e));
        OK(sql_number(c, "SELECT count(*) FROM t WHERE k BETWEEN 1 AND ?1",
                      SQL_WITH(SQL_INT(acked)), &found, e));
        db_read_end(c);
        assert_int_equal(found, acked);
        /* Nothing later without what was posted before it. */
        assert_int_equal(number(db, "SELECT count(*) FROM t AS a WHERE k > 0 AND k % 3 = 0"
                                    " AND NOT EXISTS (SELECT 1 FROM t WHERE k = -a.k - 1000000)"),
                         0);
        db_close(db);
    }
}

/* The system's VFS, but fsync and write fail on demand. */
enum { SYNCS_WORK, SYNCS_FAIL, SYNCS_OF_THE_DATABASE_FAIL, SYNCS_FIND_NO_ROOM };
static _Atomic int failing_syncs, failing_writes;
static sqlite3_vfs bad_vfs;

struct bad_file {
    sqlite3_file base;
    sqlite3_io_methods methods;
    bool is_database;    /* and not its log */
    sqlite3_file real[]; /* szOsFile bytes */
};

static int bad_sync(sqlite3_file *f, int flags)
{
    struct bad_file *b = (struct bad_file *)f;
    int how = atomic_load(&failing_syncs);
    if (how == SYNCS_FAIL || (how == SYNCS_OF_THE_DATABASE_FAIL && b->is_database))
        return SQLITE_IOERR_FSYNC;
    if (how == SYNCS_FIND_NO_ROOM) {
        errno = ENOSPC;
        return SQLITE_IOERR_FSYNC;
    }
    return b->real->pMethods->xSync(b->real, flags);
}

static int bad_write(sqlite3_file *f, const void *bytes, int len, sqlite3_int64 at)
{
    struct bad_file *b = (struct bad_file *)f;
    if (atomic_load(&failing_writes))
        return SQLITE_FULL;
    return b->real->pMethods->xWrite(b->real, bytes, len, at);
}

#define FORWARD(name, params, args)                \
    static int bad_##name params                   \
    {                                              \
        struct bad_file *b = (struct bad_file *)f; \
        return b->real->pMethods->name args;       \
    }
FORWARD(xClose, (sqlite3_file * f), (b->real))
FORWARD(xRead, (sqlite3_file * f, void *to, int n, sqlite3_int64 at), (b->real, to, n, at))
FORWARD(xTruncate, (sqlite3_file * f, sqlite3_int64 size), (b->real, size))
FORWARD(xFileSize, (sqlite3_file * f, sqlite3_int64 *size), (b->real, size))
FORWARD(xLock, (sqlite3_file * f, int level), (b->real, level))
FORWARD(xUnlock, (sqlite3_file * f, int level), (b->real, level))
FORWARD(xCheckReservedLock, (sqlite3_file * f, int *ret), (b->real, ret))
FORWARD(xFileControl, (sqlite3_file * f, int op, void *arg), (b->real, op, arg))
FORWARD(xSectorSize, (sqlite3_file * f), (b->real))
FORWARD(xDeviceCharacteristics, (sqlite3_file * f), (b->real))
FORWARD(xShmMap, (sqlite3_file * f, int page, int size, int extend, void volatile **ret),
        (b->real, page, size, extend, ret))
FORWARD(xShmLock, (sqlite3_file * f, int at, int n, int flags), (b->real, at, n, flags))
FORWARD(xShmUnmap, (sqlite3_file * f, int remove), (b->real, remove))

static void bad_xShmBarrier(sqlite3_file *f)
{
    struct bad_file *b = (struct bad_file *)f;
    b->real->pMethods->xShmBarrier(b->real);
}

static int bad_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
    sqlite3_vfs *good = vfs->pAppData;
    struct bad_file *b = (struct bad_file *)f;
    b->base.pMethods = NULL;
    int rc = good->xOpen(good, name, b->real, flags, ret_flags);
    if (rc != SQLITE_OK)
        return rc;
    b->methods = (sqlite3_io_methods){
        .iVersion = 2,
        .xClose = bad_xClose,
        .xRead = bad_xRead,
        .xWrite = bad_write,
        .xTruncate = bad_xTruncate,
        .xSync = bad_sync,
        .xFileSize = bad_xFileSize,
        .xLock = bad_xLock,
        .xUnlock = bad_xUnlock,
        .xCheckReservedLock = bad_xCheckReservedLock,
        .xFileControl = bad_xFileControl,
        .xSectorSize = bad_xSectorSize,
        .xDeviceCharacteristics = bad_xDeviceCharacteristics,
        .xShmMap = bad_xShmMap,
        .xShmLock = bad_xShmLock,
        .xShmBarrier = bad_xShmBarrier,
        .xShmUnmap = bad_xShmUnmap,
    };
    b->is_database = flags & SQLITE_OPEN_MAIN_DB;
    b->base.pMethods = &b->methods;
    return SQLITE_OK;
}

static int add_bad_vfs(void **state)
{
    (void)state;
    sqlite3_vfs *good = sqlite3_vfs_find(NULL);
    bad_vfs = *good;
    bad_vfs.zName = "bad";
    bad_vfs.pAppData = good;
    bad_vfs.szOsFile = (int)sizeof(struct bad_file) + good->szOsFile;
    bad_vfs.xOpen = bad_open;
    return sqlite3_vfs_register(&bad_vfs, 0);
}

static void a_failed_fsync_stops_the_store_for_good(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct db *db = open_with(s.path, 2, "bad");
    struct row r[] = {{.k = 1}, {.k = 2}, {.k = 3}, {.k = 4}};
    OK(db_write(db, put, &r[0], e));
    atomic_store(&stops, 0);
    atomic_store(&losses, 0);
    atomic_store(&failing_syncs, SYNCS_FAIL);
    OK(db_post(db, put, &r[1], NULL, e));
    FAILS(ERR_UNAVAILABLE, db_write(db, put, &r[2], e));
    atomic_store(&failing_syncs, SYNCS_WORK); /* the disk pretends to be well again */
    FAILS(ERR_UNAVAILABLE, db_write(db, put, &r[3], e));
    FAILS(ERR_UNAVAILABLE, db_post(db, put, &r[3], NULL, e));
    FAILS(ERR_UNAVAILABLE, db_settle(db, e));
    assert_true(db_is_stopped(db));
    assert_int_equal(rows(db), 1); /* reading goes on */
    db_close(db);
    assert_int_equal(atomic_load(&stops), 1);
    assert_int_equal(atomic_load(&losses), 1);
    db = open_db(s.path); /* a restart */
    assert_true(rows(db) >= 1);
    assert_int_equal(number(db, "SELECT count(*) FROM t WHERE k = 1"), 1);
    r[0].k = 5;
    OK(db_write(db, put, &r[0], e));
    db_close(db);
}

static void a_checkpoint_that_cannot_sync_stops_the_store_too(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct db *db = open_with(s.path, 2, "bad");
    atomic_store(&stops, 0);
    atomic_store(&failing_syncs, SYNCS_OF_THE_DATABASE_FAIL);
    struct row r = {.k = 0, .size = 1 << 20};
    struct err e = {0};
    while (db_write(db, put, &r, &e) == 0 && r.k < 2 * (DB_WAL_SOFT >> 20))
        r.k++;
    assert_true(r.k >= DB_WAL_SOFT >> 20); /* until then there was nothing to move */
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    db_close(db); /* and makes no checkpoint */
    atomic_store(&failing_syncs, SYNCS_WORK);
    assert_int_equal(atomic_load(&stops), 1);
    db = open_db(s.path);
    assert_int_equal(rows(db), r.k); /* what was acknowledged is in the log */
    db_close(db);
}

static void a_full_disk_fails_the_write_and_not_the_store(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct db *db = open_with(s.path, 2, "bad");
    struct row r[] = {{.k = 1}, {.k = 2}, {.k = 3}};
    OK(db_write(db, put, &r[0], e));
    atomic_store(&losses, 0);
    atomic_store(&failing_writes, 1);
    OK(db_post(db, put, &r[1], NULL, e));
    struct row with = {.k = 100};
    struct db_rider rider = {.run = put, .arg = &with};
    (void)db_rider_set(&rider);
    FAILS(ERR_NO_SPACE, db_write(db, put, &r[2], e));
    FAILS(ERR_NO_SPACE, db_write(db, put, &r[2], e));
    assert_false(rider.is_taken);
    atomic_store(&failing_writes, 0);
    assert_false(db_is_stopped(db));
    assert_int_equal(rows(db), 1);
    OK(db_write(db, put, &r[2], e)); /* what rides along had been undone with it every time */
    (void)db_rider_set(NULL);
    assert_true(rider.is_taken);
    assert_int_equal(rows(db), 3);
    db_close(db);
    assert_int_equal(atomic_load(&losses), 1);
}

static _Atomic int rooms; /* how often room was made */

static bool make_room(void *arg)
{
    bool has_some = *(bool *)arg;
    atomic_fetch_add(&rooms, 1);
    if (has_some) {
        atomic_store(&failing_writes, 0);
        atomic_store(&failing_syncs, SYNCS_WORK);
    }
    return has_some;
}

static struct db *open_with_room(const char *dir, bool *has_some)
{
    const struct db_options o = {.dir = dir,
                                 .migrations = schema,
                                 .migration_count = 2,
                                 .make_room = make_room,
                                 .arg = has_some,
                                 .vfs = "bad"};
    struct db *db = NULL;
    OK(db_open(&o, &db, e));
    atomic_store(&rooms, 0);
    return db;
}

static void what_does_not_fit_is_tried_again_when_room_was_made(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    bool has_some = true;
    struct db *db = open_with_room(s.path, &has_some);
    struct row r[] = {{.k = 1}, {.k = 2}, {.k = 3}, {.k = 4}};
    OK(db_write(db, put, &r[0], e));
    atomic_store(&failing_writes, 1);
    OK(db_write(db, put, &r[1], e)); /* alone in its group */
    assert_int_equal(atomic_load(&rooms), 1);
    atomic_store(&failing_writes, 1);
    OK(db_post(db, put, &r[2], NULL, e));
    OK(db_write(db, put, &r[3], e));
    assert_int_equal(rows(db), 4);
    has_some = false;
    atomic_store(&failing_writes, 1);
    r[0].k = 5;
    FAILS(ERR_NO_SPACE, db_write(db, put, &r[0], e));
    atomic_store(&failing_writes, 0);
    assert_false(db_is_stopped(db));
    assert_int_equal(rows(db), 4);
    db_close(db);
}

static void a_sync_that_finds_no_room_fails_the_write_and_not_the_store(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    bool has_some = false;
    struct db *db = open_with_room(s.path, &has_some);
    struct row r[] = {{.k = 1}, {.k = 2}, {.k = 3}};
    OK(db_write(db, put, &r[0], e));
    atomic_store(&failing_syncs, SYNCS_FIND_NO_ROOM);
    FAILS(ERR_NO_SPACE, db_write(db, put, &r[1], e));
    assert_false(db_is_stopped(db));
    assert_int_equal(rows(db), 1);
    has_some = true;
    OK(db_write(db, put, &r[2], e));
    assert_int_equal(rows(db), 2);
    db_close(db);
    db = open_db(s.path); /* a restart */
    assert_int_equal(rows(db), 2);
    assert_int_equal(number(db, "SELECT count(*) FROM t WHERE k = 2"), 0);
    db_close(db);
}

/* In a child, because the limit on the size of files is for the whole process. */
static int grow_to_the_limit(const char *dir)
{
    struct db_options o = {.dir = dir, .migrations = schema, .migration_count = 2};
    struct db *db;
    struct err e = {0};
    struct rlimit small = {.rlim_cur = 3 << 20, .rlim_max = 3 << 20};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (db_open(&o, &db, &e) || sigaction(SIGXFSZ, &ignore, NULL) ||
        setrlimit(RLIMIT_FSIZE, &small))
        return 1;
    int64_t k = 0;
    for (; k < 10; k++) {
        struct row r = {.k = k, .size = 1 << 20};
        if (db_write(db, put, &r, &e))
            break;
    }
    if (k == 10 || e.code != ERR_NO_SPACE || db_is_stopped(db))
        return 2;
    struct row big = {.k = 100, .size = 1 << 20}, tiny = {.k = 101, .size = 10};
    struct row *posted = malloc(sizeof *posted);
    *posted = big;
    if (db_post(db, put, posted, free, &e)) /* too large, in one group with one that fits */
        return 3;
    if (db_write(db, put, &tiny, &e))
        return 4;
    db_close(db);
    return 0;
}

static void one_that_is_too_large_does_not_take_the_others_with_it(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(grow_to_the_limit(s.path));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct db *db = open_db(s.path);
    assert_int_equal(number(db, "SELECT count(*) FROM t WHERE k = 101"), 1);
    assert_int_equal(number(db, "SELECT count(*) FROM t WHERE k = 100"), 0);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(every_acknowledged_row_survives_a_kill),
        cmocka_unit_test(a_failed_fsync_stops_the_store_for_good),
        cmocka_unit_test(a_checkpoint_that_cannot_sync_stops_the_store_too),
        cmocka_unit_test(a_full_disk_fails_the_write_and_not_the_store),
        cmocka_unit_test(what_does_not_fit_is_tried_again_when_room_was_made),
        cmocka_unit_test(a_sync_that_finds_no_room_fails_the_write_and_not_the_store),
        cmocka_unit_test(one_that_is_too_large_does_not_take_the_others_with_it),
    };
    return cmocka_run_group_tests(all, add_bad_vfs, NULL);
}
