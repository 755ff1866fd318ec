/* Every call that writes fails once, in each way: nothing that was acknowledged is lost, nothing is
 * acknowledged that is not there, and a store says so when it has stopped. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/contents_fixture.h"
#include "store/pack_io.h"
#include "store/packs_fixture.h"

/* ---- a system that fails ---- */

enum way { FAIL_EIO, FAIL_ENOSPC, FAIL_SHORT, WAYS };

static struct {
    enum way way;
    int countdown; /* the call that brings it to 0 fails; below: none does */
    int calls;
    int dir_fd;
    bool has_failed, was_sync, was_write;
    bool is_unsynced, is_unnamed; /* bytes, names that a power cut would take */
} fault;

static bool is_due(bool is_sync, bool is_write)
{
    fault.calls++;
    if (fault.countdown <= 0 || --fault.countdown > 0)
        return false;
    fault.has_failed = true;
    fault.was_sync = is_sync;
    fault.was_write = is_write;
    errno = fault.way == FAIL_ENOSPC ? ENOSPC : EIO;
    return fault.way != FAIL_SHORT;
}

static int bad_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    if (is_due(false, false))
        return -1;
    fault.is_unnamed |= (flags & O_CREAT) != 0;
    return openat(dir_fd, path, flags, mode);
}

static int bad_mkdirat(int dir_fd, const char *path, mode_t mode)
{
    return is_due(false, false) ? -1 : mkdirat(dir_fd, path, mode);
}

/* A failed write may have written something; a short one says so. */
static ssize_t bad_pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
    bool had_failed = fault.has_failed;
    fault.is_unsynced = true;
    bool is_bad = is_due(false, true);
    if (!is_bad && fault.has_failed == had_failed)
        return pwritev(fd, pieces, count, offset);
    int errnum = errno;
    struct iovec half = {pieces[0].iov_base, (pieces[0].iov_len + 1) / 2};
    ssize_t n = half.iov_len ? pwritev(fd, &half, 1, offset) : pwritev(fd, pieces, count, offset);
    errno = errnum;
    return is_bad ? -1 : n;
}

static int bad_fdatasync(int fd)
{
    if (is_due(true, false))
        return -1;
    fault.is_unsynced = false;
    return fdatasync(fd);
}

static int bad_fsync(int fd)
{
    if (is_due(true, false))
        return -1;
    struct stat directory, parent;
    assert_int_equal(fstat(fd, &directory), 0);
    assert_int_equal(fstatat(fault.dir_fd, ".", &parent, 0), 0);
    fault.is_unnamed &= directory.st_ino == parent.st_ino; /* of the vault, not of its pack */
    return fsync(fd);
}

static int bad_ftruncate(int fd, off_t len)
{
    return is_due(false, false) ? -1 : ftruncate(fd, len);
}

static int bad_unlinkat(int dir_fd, const char *path, int flags)
{
    return is_due(false, false) ? -1 : unlinkat(dir_fd, path, flags);
}

static int no_sync_file_range(int fd, off_t offset, off_t len, unsigned flags)
{
    (void)fd, (void)offset, (void)len, (void)flags;
    return 0;
}

static const struct pack_io bad_io = {
    .openat = bad_openat,
    .mkdirat = bad_mkdirat,
    .pwritev = bad_pwritev,
    .fdatasync = bad_fdatasync,
    .fsync = bad_fsync,
    .ftruncate = bad_ftruncate,
    .unlinkat = bad_unlinkat,
    .sync_file_range = no_sync_file_range,
};

/* ---- a store on it ---- */

struct place {
    struct scratch scratch;
    struct packs *packs;
    struct contents *contents;
    int stops;
};

static void count_stop(void *arg, const char *why)
{
    assert_true(strlen(why) > 0);
    ((struct place *)arg)->stops++;
}

static void open_place(struct place *place, const struct pack_io *io)
{
    struct packs_options p = {.dir_fd = place->scratch.fd, .io = io};
    OK(packs_open(&p, &place->packs, e));
    struct contents_options o = {.packs = place->packs, .on_stop = count_stop, .arg = place};
    OK(contents_open(&o, &place->contents, e));
}

static void close_place(struct place *place)
{
    contents_close(place->contents);
    packs_close(place->packs);
}

/* ---- what is done on it ---- */

enum { BATCHES = 6 };
static const size_t batch_lens[BATCHES] = {100, 1500000, 8000, 200000, 300, 400000};

struct acknowledged {
    bool is_it;
    struct content content;
};

/* One content of that number; true when it was acknowledged. Even ones are dropped half-way before. */
static bool store_number(struct place *place, size_t number, struct content *ret, struct err *e)
{
    scoped(freep) uint8_t *bytes = noise(batch_lens[number], number);
    scoped(batch_freep) struct batch *b = NULL;
    if (batch_new(place->contents, "prn_a", &b, e))
        return false;
    if (number % 2 == 0) {
        scoped(freep) uint8_t *other = noise(1200000, 50 + number);
        if (batch_begin(b, 0, e) || batch_write(b, other, 1200000, e))
            return false;
        batch_drop(b);
    }
    if (batch_begin(b, 0, e) || batch_write(b, bytes, batch_lens[number], e) ||
        batch_end(b, ret, e) || batch_sync(b, e))
        return false;
    assert_false(fault.is_unsynced || fault.is_unnamed);
    fake_commit(b);
    return true;
}

/* An upload that somebody gives up: its release takes bytes back. */
static void give_up(struct place *place)
{
    scoped(freep) uint8_t *bytes = noise(2200000, 90);
    scoped(batch_freep) struct batch *b = NULL;
    struct err e = {0};
    if (batch_new(place->contents, "prn_a", &b, &e) || batch_begin(b, 0, &e))
        return;
    (void)batch_write(b, bytes, 2200000, &e);
}

static void check_failure(struct place *place, const struct err *why)
{
    assert_true(fault.has_failed);
    if (fault.way == FAIL_ENOSPC) {
        assert_int_equal(why->code, ERR_NO_SPACE);
        assert_false(contents_is_stopped(place->contents));
    }
    if (fault.way == FAIL_EIO && (fault.was_sync || fault.was_write))
        assert_true(contents_is_stopped(place->contents));
    assert_int_not_equal(fault.way, FAIL_SHORT);
}

static void work(struct place *place, struct acknowledged all[BATCHES])
{
    for (size_t i = 0; i < BATCHES; i++) {
        struct err e = {0};
        bool was_stopped = contents_is_stopped(place->contents);
        all[i].is_it = store_number(place, i, &all[i].content, &e);
        if (was_stopped) {
            assert_false(all[i].is_it);
            assert_int_equal(e.code, ERR_UNAVAILABLE);
        } else if (!all[i].is_it) {
            check_failure(place, &e);
        }
        if (i == 2)
            give_up(place);
    }
    assert_int_equal(place->stops, contents_is_stopped(place->contents));
    /* Whatever happened, if it did not stop, the last one went well: only one call fails. */
    assert_true(all[BATCHES - 1].is_it || contents_is_stopped(place->contents) ||
                fault.countdown == 0);
}

static void expect_number(struct place *place, size_t number, const struct content *content)
{
    scoped(freep) uint8_t *bytes = noise(batch_lens[number], number);
    scoped(freep) uint8_t *to = malloc(batch_lens[number]);
    scoped(content_closep) struct content_reader *r = NULL;
    size_t got;
    OK(content_open(place->contents, "prn_a", content, &r, e));
    OK(content_read(r, 0, to, batch_lens[number], &got, e));
    assert_int_equal(got, batch_lens[number]);
    assert_memory_equal(to, bytes, got);
}

static void check_all(struct place *place, const struct acknowledged all[BATCHES])
{
    for (size_t i = 0; i < BATCHES; i++)
        if (all[i].is_it)
            expect_number(place, i, &all[i].content);
}

/* Returns the number of calls. `at` 0: none fails. */
static int run_once(enum way way, int at)
{
    struct place place = {.scratch = scratch_new_fast()};
    struct acknowledged all[BATCHES] = {0};
    fake_forget_all();
    memset(&fault, 0, sizeof fault);
    fault.way = way;
    fault.countdown = at;
    fault.dir_fd = place.scratch.fd;
    open_place(&place, &bad_io);
    work(&place, all);
    check_all(&place, all); /* reading goes on, stopped or not */
    close_place(&place);
    int calls = fault.calls;

    struct err e = {0};
    fault.countdown = 0;
    open_place(&place, &bad_io); /* as after a restart */
    check_all(&place, all);
    for (size_t i = 0; i < BATCHES; i++)
        if (!all[i].is_it)
            assert_true(all[i].is_it = store_number(&place, i, &all[i].content, &e));
    check_all(&place, all);
    close_place(&place);
    fake_forget_all();
    scratch_done(&place.scratch);
    return calls;
}

static void sweep(enum way way)
{
    int calls = run_once(way, 0);
    assert_true(calls > 20);
    for (int at = 1; at <= calls; at++)
        (void)run_once(way, at);
}

static void a_disk_that_fails_once_loses_nothing_that_was_acknowledged(void **state)
{
    (void)state;
    sweep(FAIL_EIO);
}

static void a_full_disk_does_not_stop_the_store(void **state)
{
    (void)state;
    sweep(FAIL_ENOSPC);
}

static void a_short_write_goes_on(void **state)
{
    (void)state;
    sweep(FAIL_SHORT);
}

/* ---- sealing ---- */

static void a_seal_that_fails_costs_no_record(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int at = 1; at <= 3; at++) {
            struct place place = {.scratch = scratch_new_fast()};
            memset(&fault, 0, sizeof fault);
            fault.dir_fd = place.scratch.fd;
            open_place(&place, &bad_io);
            struct lease *l;
            struct pack_walked walked;
            OK(packs_lease(place.packs, "prn_a", &l, e));
            fill_up(l);
            OK(lease_sync(l, e));
            fault.way = (enum way)way;
            fault.countdown = at; /* 1: the footer, 2: its sync; then none */
            lease_release(l);
            assert_int_equal(packs_is_stopped(place.packs), at <= 2 && way == FAIL_EIO);
            OK(packs_walk(place.packs, "prn_a", 1, NULL, NULL, &walked, e));
            assert_int_equal(walked.records, PACK_RECORDS_MAX);
            close_place(&place);
            scratch_done(&place.scratch);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_that_fails_once_loses_nothing_that_was_acknowledged),
        cmocka_unit_test(a_full_disk_does_not_stop_the_store),
        cmocka_unit_test(a_short_write_goes_on),
        cmocka_unit_test(a_seal_that_fails_costs_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
