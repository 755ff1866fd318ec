/* A plain working copy: what a look tells, what it leaves out, what is known without a look. */
#include "session/working.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "session/working_fixture.h"
#include "wire/limits.h"

static void a_look_tells_what_changed_since_the_last_one(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "data");
    scratch_write(&s, "data/a", "one");
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    scoped(record_done) struct record first = look(w);
    assert_int_equal(first.count, 1);
    expect_changed(&first, "a", "one");
    expect_nothing(w);

    scratch_write(&s, "data/a", "two");
    scratch_mkdir(&s, "data/d");
    scratch_write(&s, "data/d/tool.sh", "#!");
    assert_int_equal(fchmodat(s.fd, "data/d/tool.sh", 0755, 0), 0);
    scoped(record_done) struct record second = look(w);
    assert_int_equal(second.count, 2);
    expect_changed(&second, "a", "two");
    expect_changed(&second, "d/tool.sh", "#!");
    assert_false(record_find(&second, "a")->is_executable);
    assert_true(record_find(&second, "d/tool.sh")->is_executable);

    assert_int_equal(unlinkat(s.fd, "data/d/tool.sh", 0), 0);
    assert_int_equal(unlinkat(s.fd, "data/d", AT_REMOVEDIR), 0);
    scoped(record_done) struct record third = look(w);
    assert_int_equal(third.count, 1);
    expect_deleted(&third, "d/tool.sh");
    expect_nothing(w);
    uint64_t bytes, files;
    working_size(w, &bytes, &files);
    assert_int_equal(bytes, 3);
    assert_int_equal(files, 1);
}

static void what_was_there_before_is_told_to_whoever_opens_it_anew(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    scratch_write(&s, "data/a", "one");
    scoped(record_done) struct record told = look(w);
    assert_int_equal(told.count, 1);
    scoped(working_closep) struct working *again = open_copy(&s, NULL, 0);
    scoped(record_done) struct record anew = look(again);
    assert_int_equal(anew.count, 1);
}

static void what_is_known_is_not_told_until_it_changes(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    scratch_write(&s, "data/a", "one");
    scratch_write(&s, "data/b", "one");
    OK(working_all_known(w, e));
    expect_nothing(w);
    scratch_write(&s, "data/b", "two");
    scratch_write(&s, "data/c", "brought");
    scratch_write(&s, "data/d", "brought too");
    assert_int_equal(unlinkat(s.fd, "data/a", 0), 0);
    static const char *const brought[] = {"d", "c", "a", "c", "was never there"};
    for (size_t i = 0; i < sizeof brought / sizeof *brought; i++)
        OK(working_known(w, brought[i], e));
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 1);
    expect_changed(&r, "b", "two");
    scratch_write(&s, "data/c", "changed");
    scratch_write(&s, "data/a", "made again");
    scoped(record_done) struct record later = look(w);
    assert_int_equal(later.count, 2);
    expect_changed(&later, "c", "changed");
    expect_changed(&later, "a", "made again");
}

static void a_look_that_failed_is_told_again_as_a_whole(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    scratch_write(&s, "data/gone", "x");
    OK(working_all_known(w, e));
    assert_int_equal(unlinkat(s.fd, "data/gone", 0), 0);
    scratch_write(&s, "data/a", "one");
    scratch_write(&s, "data/b", "one");
    for (int at = 1; at <= 3; at++) {
        scoped(record_done) struct record r = {.fail_at = at};
        const struct working_sink sink = record_sink(&r);
        FAILS(ERR_QUOTA, working_look(w, &sink, &r.found, e));
    }
    scoped(record_done) struct record whole = look(w);
    assert_int_equal(whole.count, 3);
    expect_nothing(w);
}

static void names_that_are_ignored_are_never_told(void **state)
{
    (void)state;
    static const char *const patterns[] = {"*.tmp", "build", "log-??"};
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "data");
    scratch_mkdir(&s, "data/build");
    scratch_mkdir(&s, "data/__pycache__");
    scratch_write(&s, "data/build/out", "x");
    scratch_write(&s, "data/__pycache__/a.pyc", "x");
    scratch_write(&s, "data/a.tmp", "x");
    scratch_write(&s, "data/log-01", "x");
    scratch_write(&s, "data/log-001", "x");
    scoped(working_closep) struct working *by_default = open_copy(&s, NULL, 0);
    scoped(record_done) struct record r = look(by_default);
    assert_int_equal(r.count, 4);
    assert_null(record_find(&r, "__pycache__/a.pyc"));

    const struct working_options own = {
        .dir_fd = s.fd, .ignore = {.patterns = patterns, .count = 3}, .file_max = 100};
    scoped(working_closep) struct working *by_rule = NULL;
    OK(working_open(&own, &by_rule, e));
    scoped(record_done) struct record o = look(by_rule);
    assert_int_equal(o.count, 2);
    expect_changed(&o, "__pycache__/a.pyc", "x");
    expect_changed(&o, "log-001", "x");
}

static void what_cannot_be_kept_is_missed_once_with_the_reason(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    scratch_write(&s, "data/\xFF\xFE", "x");
    scratch_mkdir(&s, "data/bad\xC0");
    scratch_write(&s, "data/bad\xC0/inside", "x");
    scratch_write(&s, "data/new\nline", "x");
    scratch_write(&s, "data/d\xC3\xA9j\xC3\xA0", "fine");
    assert_int_equal(symlinkat("/etc/passwd", s.fd, "data/link"), 0);
    assert_int_equal(mkfifoat(s.fd, "data/fifo", 0644), 0);
    make_whiteout(&s, "data/device"); /* in a plain directory it is nothing else */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/data/socket", s.path);
    scoped(fd_closep) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof address), 0);

    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 1);
    expect_changed(&r, "d\xC3\xA9j\xC3\xA0", "fine");
    assert_int_equal(r.found.missed_count, 7);
    assert_string_equal(why_missed(&r.found, "\xFF\xFE"), "name is not UTF-8");
    assert_string_equal(why_missed(&r.found, "bad\xC0"), "name is not UTF-8");
    assert_string_equal(why_missed(&r.found, "new\nline"), "control characters in its name");
    assert_string_equal(why_missed(&r.found, "link"), "symbolic link");
    assert_string_equal(why_missed(&r.found, "fifo"), "named pipe");
    assert_string_equal(why_missed(&r.found, "device"), "device");
    assert_string_equal(why_missed(&r.found, "socket"), "socket");
    scoped(record_done) struct record again = look(w);
    assert_int_equal(again.count + again.found.missed_count, 0);
}

static void a_sparse_terabyte_is_missed_and_never_read(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    scratch_write(&s, "data/huge", "x");
    scoped(fd_closep) int fd = openat(s.fd, "data/huge", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    int64_t begun_us = clock_us();
    scoped(record_done) struct record r = look(w);
    assert_true(clock_us() - begun_us < 1000000);
    assert_int_equal(r.count, 0);
    assert_string_equal(why_missed(&r.found, "huge"), "too large");
    uint64_t bytes, files;
    working_size(w, &bytes, &files);
    assert_true(bytes < 1 << 20);
    assert_int_equal(ftruncate(fd, 1), 0);
    scoped(record_done) struct record small = look(w);
    expect_changed(&small, "huge", "x");
}

static void exactly_the_largest_file_is_told_and_one_byte_more_is_not(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "data");
    scratch_write(&s, "data/most", "12345");
    scratch_write(&s, "data/more", "123456");
    const struct working_options options = {
        .dir_fd = s.fd, .ignore = ignore_defaults, .file_max = 5};
    scoped(working_closep) struct working *w = NULL;
    OK(working_open(&options, &w, e));
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 1);
    expect_changed(&r, "most", "12345");
    assert_string_equal(why_missed(&r.found, "more"), "too large");
}

static void a_tree_too_deep_is_said_and_the_rest_is_told(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    struct scratch data = {.fd = openat(s.fd, "data", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    dig(&data, CAPTURE_DEPTH_MAX + 1000);
    (void)close(data.fd);
    scratch_write(&s, "data/beside", "x");
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.found.missed_count, 1);
    assert_string_equal(r.found.missed[0].reason, "too deep");
}

static void sixty_thousand_files_are_told(void **state)
{
    (void)state;
    enum { COUNT = 60000 };
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "data/f%06d", i);
        int fd = openat(s.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    scoped(record_done) struct record all = look(w);
    assert_int_equal(all.count, COUNT);
    assert_int_equal(all.found.missed_count, 0);
    assert_string_equal(all.items[COUNT - 1].path, "f059999");
    scratch_write(&s, "data/f030000", "x");
    assert_int_equal(unlinkat(s.fd, "data/f000000", 0), 0);
    scoped(record_done) struct record two = look(w);
    assert_int_equal(two.count, 2);
    expect_deleted(&two, "f000000");
    expect_changed(&two, "f030000", "x");
}

static int look_at_what_is_closed(void)
{
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    const struct working_options options = {
        .dir_fd = s.fd, .ignore = ignore_defaults, .file_max = 100};
    scoped(working_closep) struct working *w = NULL;
    if (working_open(&options, &w, &e))
        return 1;
    scratch_mkdir(&s, "data/dir");
    scratch_write(&s, "data/dir/inside", "x");
    if (working_all_known(w, &e))
        return 2;
    scratch_write(&s, "data/secret", "x");
    if (fchmodat(s.fd, "data/secret", 0, 0) || fchmodat(s.fd, "data/dir", 0, 0))
        return 3;
    for (int i = 0; i < 2; i++) {
        scoped(record_done) struct record r = {0};
        const struct working_sink sink = record_sink(&r);
        if (working_look(w, &sink, &r.found, &e))
            return 4;
        if (r.count != 0) /* above all, dir/inside is not called deleted */
            return 5;
        if (i == 0 && strcmp(why_missed(&r.found, "secret"), "cannot be read") != 0)
            return 6;
        if (strcmp(why_missed(&r.found, "dir"), "cannot be read") != 0)
            return 7;
    }
    working_close(take(w));
    if (fchmodat(s.fd, "data", 0, 0) || working_open(&options, &w, &e))
        return 8; /* the session closed all of it: it is ours, so it is opened again */
    return fchmodat(s.fd, "data/dir", 0700, 0) ? 9 : 0;
}

static void what_is_closed_is_missed_with_the_reason(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(look_at_what_is_closed));
}

static void no_descriptor_is_left_open(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), lower = scratch_new();
    scoped(fd_closep) int own = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t before_count = entries(own);
    struct working *w = open_copy(&s, &lower, 1);
    scratch_mkdir(&s, "data/d");
    scratch_write(&s, "data/d/a", "x");
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 1);
    working_close(w);
    assert_int_equal(entries(own), before_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_tells_what_changed_since_the_last_one),
        cmocka_unit_test(what_was_there_before_is_told_to_whoever_opens_it_anew),
        cmocka_unit_test(what_is_known_is_not_told_until_it_changes),
        cmocka_unit_test(a_look_that_failed_is_told_again_as_a_whole),
        cmocka_unit_test(names_that_are_ignored_are_never_told),
        cmocka_unit_test(what_cannot_be_kept_is_missed_once_with_the_reason),
        cmocka_unit_test(a_sparse_terabyte_is_missed_and_never_read),
        cmocka_unit_test(exactly_the_largest_file_is_told_and_one_byte_more_is_not),
        cmocka_unit_test(a_tree_too_deep_is_said_and_the_rest_is_told),
        cmocka_unit_test(sixty_thousand_files_are_told),
        cmocka_unit_test(what_is_closed_is_missed_with_the_reason),
        cmocka_unit_test(no_descriptor_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
