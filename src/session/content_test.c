/* Files that are swapped, written or far too large while they are read. */
#include <sys/stat.h>

#include "base/clock.h"
#include "session/capture_fixture.h"

static void a_sparse_terabyte_is_listed_but_not_read(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    scratch_write(&s, "huge.bin", "x");
    scoped(fd_closep) int fd = openat(s.fd, "huge.bin", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    int64_t begun_us = clock_us();
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_true(clock_us() - begun_us < 2000000);
    assert_int_equal(c.count, 1);
    assert_true(c.files[0].size == (uint64_t)1 << 40);
    assert_false(c.files[0].has_sha256);
    assert_string_equal(why_missed(&c, "huge.bin"), "too large");
}

static void a_file_swapped_for_a_link_never_shows_what_is_behind_it(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch outside = scratch_new();
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    lay_bait(&s, &outside);
    pid_t swapper = in_background(swap_file_and_link, s.fd);
    size_t files = 0, links = 0;
    struct race race = race_begin();
    while (race_goes_on(&race, files, links)) {
        scoped(capture_done) struct capture c = capture(&s, &before);
        for (size_t i = 0; i < c.count; i++) {
            if (c.files[i].has_sha256)
                assert_true(has_content(&c.files[i], bait_safe));
            files += c.files[i].has_sha256;
        }
        links += c.missed_count;
    }
    stop(swapper);
    assert_true(files >= RACE_ENOUGH && links >= RACE_ENOUGH);
}

enum { RESTLESS_SIZE = 32 << 20 };

/* Changes bytes in place: the size does not tell. */
static void rewrite(int dir_fd)
{
    int fd = openat(dir_fd, "restless", O_WRONLY | O_CLOEXEC);
    for (int i = 0; i < 1000; i++)
        if (pwrite(fd, "changed", 7, RESTLESS_SIZE / 2) != 7)
            _exit(1);
    (void)close(fd);
}

static void a_file_that_does_not_hold_still_is_said_to_change(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    scratch_write(&s, "restless", "x");
    scoped(fd_closep) int fd = openat(s.fd, "restless", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, RESTLESS_SIZE), 0);
    pid_t writer = in_background(rewrite, s.fd);
    bool is_noticed = false;
    for (int64_t end_us = clock_us() + 10000000; clock_us() < end_us && !is_noticed;) {
        scoped(capture_done) struct capture c = capture(&s, &before);
        is_noticed = strcmp(why_missed(&c, "restless"), "changed while it was read") == 0;
        assert_int_equal(c.count, 1);
        if (is_noticed)
            assert_false(c.files[0].has_sha256);
    }
    stop(writer);
    assert_true(is_noticed);
}

/* A lease makes others wait until it is given back; a capture does not wait. */
static void a_file_that_is_busy_is_told_again_by_the_next_capture(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot known = snapshot(&s);
    scratch_write(&s, "busy", "text");
    scoped(fd_closep) int fd = openat(s.fd, "busy", O_WRONLY | O_CLOEXEC);
    assert_true(fcntl(fd, F_SETSIG, SIGWINCH) == 0); /* ignored: we know who is coming */
    assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);

    scoped(capture_done) struct capture first = {0}, second = {0}, third = {0};
    assert_int_equal(capture_next(s.fd, &known, &first, &e), 0);
    assert_int_equal(first.count, 1);
    assert_false(first.files[0].has_sha256);
    assert_string_equal(why_missed(&first, "busy"), "in use");

    assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
    assert_int_equal(capture_next(s.fd, &known, &second, &e), 0);
    assert_int_equal(second.count, 1);
    assert_true(has_content(&second.files[0], "text"));
    assert_int_equal(capture_next(s.fd, &known, &third, &e), 0);
    assert_int_equal(third.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sparse_terabyte_is_listed_but_not_read),
        cmocka_unit_test(a_file_swapped_for_a_link_never_shows_what_is_behind_it),
        cmocka_unit_test(a_file_that_does_not_hold_still_is_said_to_change),
        cmocka_unit_test(a_file_that_is_busy_is_told_again_by_the_next_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
