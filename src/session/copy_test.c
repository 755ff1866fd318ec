/* What capture_copy promises, with links and races on both sides. */
#include <sys/stat.h>

#include "session/capture_fixture.h"

static void assert_file(const struct scratch *s, const char *path, const char *text)
{
    char got[100] = {0};
    struct stat st;
    scoped(fd_closep) int fd = openat(s->fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_true(read(fd, got, sizeof got - 1) >= 0);
    assert_string_equal(got, text);
}

static void a_copy_makes_its_directories_and_replaces_a_file(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    scratch_mkdir(&s, "a");
    scratch_mkdir(&s, "a/b");
    scratch_write(&s, "a/b/c.txt", "first");
    assert_int_equal(fchmodat(s.fd, "a/b/c.txt", 0400, 0), 0);
    mode_t was = umask(022);
    assert_int_equal(capture_copy(s.fd, out.fd, "a/b/c.txt", 100, &e), 0);
    umask(was);
    assert_file(&out, "a/b/c.txt", "first");
    struct stat st;
    assert_int_equal(fstatat(out.fd, "a/b/c.txt", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0644);

    assert_int_equal(fchmodat(s.fd, "a/b/c.txt", 0600, 0), 0);
    scratch_write(&s, "a/b/c.txt", "second, longer");
    assert_int_equal(capture_copy(s.fd, out.fd, "a/b/c.txt", 100, &e), 0);
    assert_file(&out, "a/b/c.txt", "second, longer");
    assert_int_equal(entries(out.fd), 1);
}

static void exactly_the_size_limit_is_copied_and_one_byte_more_is_not(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    scratch_write(&s, "five", "12345");
    assert_int_equal(capture_copy(s.fd, out.fd, "five", 5, &e), 0);
    assert_file(&out, "five", "12345");
    assert_int_equal(unlinkat(out.fd, "five", 0), 0);
    assert_int_equal(capture_copy(s.fd, out.fd, "five", 4, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(entries(out.fd), 0); /* no half-written file stays */
}

static void nothing_is_copied_from_or_to_outside(void **state)
{
    (void)state;
    static const char *const paths[] = {"",     ".",     "..",     "/etc/passwd", "../x", "a/../x",
                                        "a//x", "a/./x", "a/b/..", "a/",          "/"};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    scratch_mkdir(&s, "a");
    scratch_write(&s, "x", "x");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct err e = {0};
        assert_int_equal(capture_copy(s.fd, out.fd, paths[i], 100, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
    assert_int_equal(entries(out.fd), 0);
}

static void only_a_regular_file_is_copied(void **state)
{
    (void)state;
    static const char *const names[] = {"fifo", "link", "dir", "missing"};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    assert_int_equal(mkfifoat(s.fd, "fifo", 0644), 0);
    assert_int_equal(symlinkat("/etc/passwd", s.fd, "link"), 0);
    scratch_mkdir(&s, "dir");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err e = {0};
        assert_int_equal(capture_copy(s.fd, out.fd, names[i], 100, &e), -1);
    }
    assert_int_equal(entries(out.fd), 0);
}

static void a_link_at_the_destination_is_replaced_and_never_written_through(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    scoped(scratch_done) struct scratch elsewhere = scratch_new();
    char target[128];
    scratch_write(&elsewhere, "precious", "precious");
    snprintf(target, sizeof target, "%s/precious", elsewhere.path);
    assert_int_equal(symlinkat(target, out.fd, "file"), 0);
    assert_int_equal(symlinkat(elsewhere.path, out.fd, "dir"), 0);
    scratch_write(&s, "file", "new");
    scratch_mkdir(&s, "dir");
    scratch_write(&s, "dir/precious", "new");

    assert_int_equal(capture_copy(s.fd, out.fd, "file", 100, &e), 0);
    assert_file(&out, "file", "new");
    assert_int_equal(capture_copy(s.fd, out.fd, "dir/precious", 100, &e), -1);
    assert_file(&elsewhere, "precious", "precious");
    assert_int_equal(entries(elsewhere.fd), 1);
}

static void a_directory_at_the_destination_is_not_replaced(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    scratch_write(&s, "name", "x");
    scratch_mkdir(&out, "name");
    assert_int_equal(capture_copy(s.fd, out.fd, "name", 100, &e), -1);
    assert_int_equal(entries(out.fd), 1);
}

static void a_copy_while_file_and_link_are_swapped_is_safe_or_fails(void **state)
{
    (void)state;
    static const char *const paths[] = {"bait", "link", "dir/inside", "dirlink/inside"};
    scoped(scratch_done) struct scratch outside = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    scoped(scratch_done) struct scratch s = scratch_new();
    lay_bait(&s, &outside);
    pid_t swapper = in_background(swap_file_and_link, s.fd);
    size_t copied = 0, failed = 0;
    struct race race = race_begin();
    while (race_goes_on(&race, copied, failed))
        for (size_t i = 0; i < 4; i++) {
            struct err e = {0};
            char text[100] = {0};
            if (capture_copy(s.fd, out.fd, paths[i], 1000, &e)) {
                failed++;
                continue;
            }
            copied++;
            scoped(fd_closep) int fd = openat(out.fd, paths[i], O_RDONLY | O_CLOEXEC);
            assert_true(read(fd, text, sizeof text - 1) > 0);
            assert_string_equal(text, bait_safe);
        }
    stop(swapper);
    assert_true(copied >= RACE_ENOUGH && failed >= RACE_ENOUGH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_makes_its_directories_and_replaces_a_file),
        cmocka_unit_test(exactly_the_size_limit_is_copied_and_one_byte_more_is_not),
        cmocka_unit_test(nothing_is_copied_from_or_to_outside),
        cmocka_unit_test(only_a_regular_file_is_copied),
        cmocka_unit_test(a_link_at_the_destination_is_replaced_and_never_written_through),
        cmocka_unit_test(a_directory_at_the_destination_is_not_replaced),
        cmocka_unit_test(a_copy_while_file_and_link_are_swapped_is_safe_or_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
