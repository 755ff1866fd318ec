#include "base/flush.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

#include <cmocka.h>

#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"

/* What the disk was asked for: files in a tree of three, by where they stand. */
static struct seen {
    long file_system;
    int range_errno;    /* of every sync_file_range; 0: it succeeds */
    int last_errno;     /* of every fsync and fdatasync */
    int begun, awaited; /* by sync_file_range */
    int data, whole;    /* fdatasync; fsync */
    int touched;        /* directories */
    bool is_out_of_order;
} seen;

int __wrap_fstatfs64(int fd, struct statfs *ret);
int __wrap_sync_file_range(int fd, off_t at, off_t len, unsigned flags);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);
int __wrap_fchmod(int fd, mode_t mode);

int __wrap_fstatfs64(int fd, struct statfs *ret)
{
    (void)fd;
    *ret = (struct statfs){.f_type = seen.file_system};
    return 0;
}

int __wrap_sync_file_range(int fd, off_t at, off_t len, unsigned flags)
{
    (void)fd, (void)at, (void)len;
    bool is_wait = flags & SYNC_FILE_RANGE_WAIT_AFTER;
    seen.is_out_of_order |= seen.whole > 0 || (!is_wait && seen.awaited > 0);
    seen.begun += !is_wait;
    seen.awaited += is_wait;
    errno = seen.range_errno;
    return errno ? -1 : 0;
}

int __wrap_fdatasync(int fd)
{
    (void)fd;
    seen.data++;
    seen.is_out_of_order |= seen.whole > 0;
    errno = seen.last_errno;
    return errno ? -1 : 0;
}

int __wrap_fsync(int fd)
{
    (void)fd;
    seen.whole++;
    errno = seen.last_errno;
    return errno ? -1 : 0;
}

int __wrap_fchmod(int fd, mode_t mode)
{
    (void)fd, (void)mode;
    seen.touched++;
    seen.is_out_of_order |= seen.whole > 0;
    return 0;
}

static struct scratch three_files(void)
{
    struct scratch s = scratch_new();
    scratch_write(&s, "a", "1");
    scratch_mkdir(&s, "d");
    scratch_mkdir(&s, "d/e");
    scratch_write(&s, "d/b", "2");
    scratch_write(&s, "d/e/c", "3");
    assert_int_equal(mkfifoat(s.fd, "pipe", 0600), 0);
    assert_int_equal(symlinkat("a", s.fd, "link"), 0);
    return s;
}

static void all_are_begun_then_awaited_then_the_journal_is_committed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = three_files();
    seen = (struct seen){.file_system = 0xEF53};
    OK(flush_tree(s.fd, e));
    assert_int_equal(seen.begun, 3);
    assert_int_equal(seen.awaited, 3);
    assert_int_equal(seen.data, 0);
    assert_int_equal(seen.touched, 1);
    assert_int_equal(seen.whole, 1);
    assert_false(seen.is_out_of_order);
}

static void files_that_cannot_be_awaited_so_are_synced(void **state)
{
    (void)state;
    static const int refusals[] = {EOPNOTSUPP, ESPIPE, EINVAL};
    scoped(scratch_done) struct scratch s = three_files();
    for (size_t i = 0; i < 3; i++) {
        seen = (struct seen){.file_system = 0x58465342, .range_errno = refusals[i]};
        OK(flush_tree(s.fd, e));
        assert_int_equal(seen.data, 3);
        assert_int_equal(seen.whole, 1);
        assert_false(seen.is_out_of_order);
    }
}

static void without_one_journal_each_is_synced(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = three_files();
    seen = (struct seen){.file_system = 0x9123683E};
    OK(flush_tree(s.fd, e));
    assert_int_equal(seen.begun + seen.awaited + seen.touched, 0);
    assert_int_equal(seen.whole, 3 + 3); /* with the directories */
}

static void what_fails_is_told(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = three_files();
    seen = (struct seen){.file_system = 0xEF53, .range_errno = EIO};
    FAILS(ERR_INTERNAL, flush_tree(s.fd, e));
    assert_int_equal(seen.whole, 0);
    seen = (struct seen){.file_system = 0xEF53, .last_errno = EIO};
    FAILS(ERR_INTERNAL, flush_tree(s.fd, e));
    seen = (struct seen){.file_system = 0x9123683E, .last_errno = EIO};
    FAILS(ERR_INTERNAL, flush_tree(s.fd, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_begun_then_awaited_then_the_journal_is_committed),
        cmocka_unit_test(files_that_cannot_be_awaited_so_are_synced),
        cmocka_unit_test(without_one_journal_each_is_synced),
        cmocka_unit_test(what_fails_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
