#include "base/disk.h"

#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"

enum { MB = 1 << 20 };

static struct statvfs fs_of(uint64_t free_bytes, uint64_t inodes, uint64_t free_inodes)
{
    return (struct statvfs){.f_frsize = 4096,
                            .f_bsize = 65536, /* not what free blocks are counted in */
                            .f_bavail = free_bytes / 4096,
                            .f_files = inodes,
                            .f_favail = free_inodes};
}

static void at_the_reserve_it_is_not_full_and_one_block_below_it_is(void **state)
{
    (void)state;
    struct statvfs fs = fs_of(512 * MB, 1000000, 900000);
    struct disk_room room = disk_room_of(&fs, 512 * MB);
    assert_false(room.is_full);
    assert_int_equal(0, room.bytes);
    assert_int_equal(512 * MB, room.free_bytes);
    fs.f_bavail--;
    assert_true(disk_room_of(&fs, 512 * MB).is_full);
    fs = fs_of(513 * MB, 1000000, 900000);
    assert_int_equal(MB, disk_room_of(&fs, 512 * MB).bytes);
}

static void without_inodes_it_is_as_full_as_without_bytes(void **state)
{
    (void)state;
    struct statvfs fs = fs_of(1024 * (uint64_t)MB, 1000000, 32768);
    struct disk_room room = disk_room_of(&fs, 512 * MB);
    assert_false(room.is_full);
    assert_int_equal(0, room.inodes);
    assert_int_equal(32768, room.free_inodes);
    assert_int_equal(32768, room.kept_inodes);
    fs.f_favail--;
    assert_true(disk_room_of(&fs, 512 * MB).is_full);
}

static void a_small_file_system_keeps_a_twentieth_of_its_inodes(void **state)
{
    (void)state;
    struct statvfs fs = fs_of(1024 * (uint64_t)MB, 1000, 50);
    assert_false(disk_room_of(&fs, 512 * MB).is_full);
    fs.f_favail--;
    assert_true(disk_room_of(&fs, 512 * MB).is_full);
}

static void inodes_that_are_not_counted_do_not_run_out(void **state)
{
    (void)state;
    struct statvfs fs = fs_of(1024 * (uint64_t)MB, 0, 0);
    struct disk_room room = disk_room_of(&fs, 512 * MB);
    assert_false(room.is_full);
    assert_true(room.inodes == UINT64_MAX);
}

static void without_a_reserve_it_is_never_full(void **state)
{
    (void)state;
    struct statvfs fs = fs_of(0, 1000, 0);
    assert_false(disk_room_of(&fs, 0).is_full);
}

static void a_real_one_says_how_much_it_has(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct disk_room room;
    OK(disk_look(s.fd, 1, &room, e));
    assert_false(room.is_full);
    assert_true(room.bytes == room.free_bytes - 1);
    OK(disk_look(s.fd, UINT64_MAX, &room, e));
    assert_true(room.is_full);
    FAILS(ERR_INTERNAL, disk_look(-1, 1, &room, e));
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(at_the_reserve_it_is_not_full_and_one_block_below_it_is),
        cmocka_unit_test(without_inodes_it_is_as_full_as_without_bytes),
        cmocka_unit_test(a_small_file_system_keeps_a_twentieth_of_its_inodes),
        cmocka_unit_test(inodes_that_are_not_counted_do_not_run_out),
        cmocka_unit_test(without_a_reserve_it_is_never_full),
        cmocka_unit_test(a_real_one_says_how_much_it_has),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
