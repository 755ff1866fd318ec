/* Trees that are too deep, too long, too many, or do not hold still. */
#include <limits.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "session/capture_fixture.h"
#include "wire/limits.h"

static void the_deepest_level_is_looked_at_and_one_more_is_not(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch at_limit = scratch_new();
    scoped(snapshot_done) struct snapshot nothing = snapshot(&at_limit);
    dig(&at_limit, CAPTURE_DEPTH_MAX - 1);
    scoped(capture_done) struct capture seen = capture(&at_limit, &nothing);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.missed_count, 0);

    scoped(scratch_done) struct scratch past = scratch_new();
    dig(&past, CAPTURE_DEPTH_MAX);
    scoped(capture_done) struct capture not_seen = capture(&past, &nothing);
    assert_int_equal(not_seen.count, 0);
    assert_int_equal(not_seen.missed_count, 1);
    assert_string_equal(not_seen.missed[0].reason, "too deep");
}

static void three_thousand_levels_do_no_harm(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    dig(&s, 3000);
    scratch_write(&s, "beside", "x");
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.missed_count, 1);
}

static void a_path_longer_than_can_be_opened_is_missed(void **state)
{
    (void)state;
    char name[251];
    memset(name, 'n', 250);
    name[250] = '\0';
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    int at = fcntl(s.fd, F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(mkdirat(at, name, 0755), 0);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(at);
        at = next;
    }
    (void)close(at);
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.missed_count, 1);
    assert_string_equal(c.missed[0].reason, "path too long");
    assert_true(strlen(c.missed[0].path) < PATH_MAX);
}

static void names_are_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {"\xFF\xFE", "new\nline", "\x1B[31mred", "..almost", " "};
    enum { COUNT = sizeof names / sizeof *names };
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    struct err e = {0};
    for (size_t i = 0; i < COUNT; i++)
        scratch_write(&s, names[i], names[i]);
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(has_content(find(&c, names[i]), names[i]));
        assert_int_equal(capture_copy(s.fd, out.fd, names[i], 100, &e), 0);
        assert_int_equal(faccessat(out.fd, names[i], R_OK, 0), 0);
    }
}

static void make_files(const struct scratch *s, int from, int to)
{
    for (int i = from; i < to; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%06d", i);
        int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        (void)close(fd);
    }
}

static void sixty_thousand_files_are_all_seen_and_past_the_limit_it_is_said(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    make_files(&s, 0, 60000);
    int64_t begun_us = clock_us();
    scoped(capture_done) struct capture most = capture(&s, &before);
    assert_true(clock_us() - begun_us < 10000000);
    assert_int_equal(most.count, 60000);
    assert_int_equal(most.missed_count, 0);
    assert_string_equal(most.files[59999].path, "f059999");

    make_files(&s, 60000, CAPTURE_ENTRIES_MAX);
    scoped(snapshot_done) struct snapshot full = snapshot(&s);
    assert_true(full.is_whole);
    assert_int_equal(full.count, CAPTURE_ENTRIES_MAX);

    make_files(&s, CAPTURE_ENTRIES_MAX, CAPTURE_ENTRIES_MAX + 1);
    scoped(snapshot_done) struct snapshot cut = snapshot(&s);
    assert_false(cut.is_whole);
    make_files(&s, CAPTURE_ENTRIES_MAX + 1, CAPTURE_ENTRIES_MAX + 2);
    assert_int_equal(unlinkat(s.fd, cut.files[500].path, 0), 0);
    assert_int_equal(unlinkat(s.fd, cut.files[600].path, 0), 0);
    scoped(capture_done) struct capture c = capture(&s, &cut);
    /* Now all are seen. The one the snapshot did not see was there before; the last one was not. */
    assert_int_equal(c.count, 3);
    assert_int_equal(c.files[0].change, FILE_DELETED);
    assert_int_equal(c.files[1].change, FILE_DELETED);
    assert_string_equal(c.files[2].path, "f100001");

    make_files(&s, CAPTURE_ENTRIES_MAX + 2, CAPTURE_ENTRIES_MAX + 4);
    scoped(capture_done) struct capture past = capture(&s, &full);
    assert_string_equal(why_missed(&past, "."), "too many files");
}

/* Entries come and go in every directory while the walk is in it. */
static void churn(int dir_fd)
{
    for (int i = 0; i < 50; i++) {
        char name[32];
        snprintf(name, sizeof name, "churn%d", i);
        (void)mkdirat(dir_fd, name, 0755);
        (void)renameat(dir_fd, name, dir_fd, "churned");
        (void)unlinkat(dir_fd, "churned", AT_REMOVEDIR);
        int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        (void)close(fd);
    }
}

static void a_tree_in_motion_is_captured_without_failing(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_write(&s, "still", "x");
    scoped(snapshot_done) struct snapshot known = snapshot(&s);
    pid_t churner = in_background(churn, s.fd);
    for (int64_t end_us = clock_us() + 1000000; clock_us() < end_us;) {
        scoped(capture_done) struct capture c = {0};
        assert_int_equal(capture_next(s.fd, &known, &c, &e), 0);
        assert_null(find(&c, "still"));
    }
    stop(churner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_deepest_level_is_looked_at_and_one_more_is_not),
        cmocka_unit_test(three_thousand_levels_do_no_harm),
        cmocka_unit_test(a_path_longer_than_can_be_opened_is_missed),
        cmocka_unit_test(names_are_bytes),
        cmocka_unit_test(sixty_thousand_files_are_all_seen_and_past_the_limit_it_is_said),
        cmocka_unit_test(a_tree_in_motion_is_captured_without_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
