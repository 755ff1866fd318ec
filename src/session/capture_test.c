/* What capture.h promises about an ordinary run and its odd files. */
#include "session/capture.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/expect.h"
#include "session/capture_fixture.h"
#include "wire/limits.h"

static void what_a_run_did_is_told_and_nothing_else(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "in");
    scratch_write(&s, "in/same.csv", "untouched");
    scratch_write(&s, "in/edited.csv", "old");
    scratch_write(&s, "gone.txt", "old");
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    assert_int_equal(before.count, 3);

    scratch_write(&s, "in/edited.csv", "new content");
    scratch_mkdir(&s, "in/deeper");
    scratch_write(&s, "in/deeper/made.PNG", "");
    assert_int_equal(unlinkat(s.fd, "gone.txt", 0), 0);
    scoped(capture_done) struct capture c = capture(&s, &before);

    assert_int_equal(c.count, 3);
    assert_int_equal(c.missed_count, 0);
    assert_string_equal(c.files[0].path, "gone.txt");
    assert_int_equal(c.files[0].change, FILE_DELETED);
    assert_false(c.files[0].has_sha256);
    assert_string_equal(c.files[1].path, "in/deeper/made.PNG");
    assert_int_equal(c.files[1].change, FILE_CREATED);
    assert_string_equal(c.files[1].mime, "image/png");
    assert_true(has_content(&c.files[1], ""));
    assert_string_equal(c.files[2].path, "in/edited.csv");
    assert_int_equal(c.files[2].change, FILE_MODIFIED);
    assert_string_equal(c.files[2].mime, "text/csv");
    assert_true(has_content(&c.files[2], "new content"));
}

static void a_name_says_what_a_file_is(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"a.json", "application/json"},
        {"b.tar.gz", "application/gzip"},
        {"c", "application/octet-stream"},
        {".png", "application/octet-stream"},
        {"d.unknown", "application/octet-stream"},
    };
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        scratch_write(&s, pairs[i][0], "x");
    scoped(capture_done) struct capture c = capture(&s, &before);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_string_equal(find(&c, pairs[i][0])->mime, pairs[i][1]);
}

static void caches_are_not_looked_at(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    scratch_mkdir(&s, "__pycache__");
    scratch_write(&s, "__pycache__/m.cpython-311.pyc", "x");
    scratch_mkdir(&s, ".ipynb_checkpoints");
    scratch_write(&s, ".ipynb_checkpoints/a.ipynb", "x");
    scratch_mkdir(&s, ".cache");
    scratch_write(&s, ".cache/a", "x");
    scratch_write(&s, "old.pyc", "x");
    scratch_write(&s, ".pyc", "a name, not an ending");
    scratch_write(&s, "cache", "x");
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.count, 2);
    assert_non_null(find(&c, ".pyc"));
    assert_non_null(find(&c, "cache"));
    assert_int_equal(c.missed_count, 0);
}

static void only_regular_files_count_and_the_rest_is_said_once(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    assert_int_equal(symlinkat("/etc/passwd", s.fd, "link"), 0);
    assert_int_equal(symlinkat("/etc", s.fd, "dirlink"), 0);
    assert_int_equal(mkfifoat(s.fd, "fifo", 0644), 0); /* opening it would wait for ever */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", s.path);
    scoped(fd_closep) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof address), 0);

    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.count, 0);
    assert_int_equal(c.missed_count, 4);
    assert_string_equal(why_missed(&c, "link"), "symbolic link");
    assert_string_equal(why_missed(&c, "dirlink"), "symbolic link");
    assert_string_equal(why_missed(&c, "fifo"), "named pipe");
    assert_string_equal(why_missed(&c, "socket"), "socket");

    scoped(snapshot_done) struct snapshot later = snapshot(&s);
    scoped(capture_done) struct capture again = capture(&s, &later);
    assert_int_equal(again.missed_count, 0);
}

static void a_file_replaced_by_a_link_is_deleted_and_the_other_way_created(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_write(&s, "a", "x");
    assert_int_equal(symlinkat("a", s.fd, "b"), 0);
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    assert_int_equal(unlinkat(s.fd, "a", 0), 0);
    assert_int_equal(unlinkat(s.fd, "b", 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", s.fd, "a"), 0);
    scratch_write(&s, "b", "now a file");
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.count, 2);
    assert_int_equal(find(&c, "a")->change, FILE_DELETED);
    assert_string_equal(why_missed(&c, "a"), "symbolic link");
    assert_int_equal(find(&c, "b")->change, FILE_CREATED);
    assert_true(has_content(find(&c, "b"), "now a file"));
}

static void a_directory_in_place_of_a_file_is_a_deletion(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_write(&s, "a", "x");
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    assert_int_equal(unlinkat(s.fd, "a", 0), 0);
    scratch_mkdir(&s, "a");
    scratch_write(&s, "a/b", "y");
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.count, 2);
    assert_int_equal(find(&c, "a")->change, FILE_DELETED);
    assert_int_equal(find(&c, "a/b")->change, FILE_CREATED);
}

/* Size and modification time are as before: only the change time tells. */
static void a_change_that_hides_its_time_is_seen(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_write(&s, "a", "old");
    struct stat st;
    assert_int_equal(fstatat(s.fd, "a", &st, 0), 0);
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    scratch_write(&s, "a", "new");
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(s.fd, "a", times, 0), 0);
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.count, 1);
    assert_true(has_content(&c.files[0], "new"));
}

/* Files are stamped with a clock that stands still for milliseconds. */
static void a_change_right_after_the_snapshot_is_seen(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    for (int i = 0; i < 100; i++) {
        scratch_write(&s, "a", "old");
        scoped(snapshot_done) struct snapshot before = snapshot(&s);
        scratch_write(&s, "a", "new");
        scoped(capture_done) struct capture c = capture(&s, &before);
        assert_int_equal(c.count, 1);
        assert_true(has_content(&c.files[0], "new"));
    }
}

static void one_capture_begins_where_the_last_one_ended(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot known = snapshot(&s);
    for (int i = 0; i < 20; i++) {
        scoped(capture_done) struct capture made = {0}, nothing = {0}, deleted = {0};
        scratch_write(&s, "a", "text");
        assert_int_equal(capture_next(s.fd, &known, &made, &e), 0);
        assert_int_equal(made.count, 1);
        assert_int_equal(made.files[0].change, i % 2 == 0 ? FILE_CREATED : FILE_MODIFIED);
        snapshot_settle(&known);
        assert_int_equal(capture_next(s.fd, &known, &nothing, &e), 0);
        assert_int_equal(nothing.count, 0);
        if (i % 2 == 1) {
            assert_int_equal(unlinkat(s.fd, "a", 0), 0);
            assert_int_equal(capture_next(s.fd, &known, &deleted, &e), 0);
            assert_int_equal(deleted.count, 1);
            assert_int_equal(deleted.files[0].change, FILE_DELETED);
        }
    }
}

static void what_is_missed_is_listed_up_to_a_limit_and_counted_beyond(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(snapshot_done) struct snapshot before = snapshot(&s);
    for (int i = 0; i < CAPTURE_MISSED_MAX + 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "link%03d", i);
        assert_int_equal(symlinkat("x", s.fd, name), 0);
    }
    scoped(capture_done) struct capture c = capture(&s, &before);
    assert_int_equal(c.missed_count, CAPTURE_MISSED_MAX);
    assert_int_equal(c.missed_more, 5);
    for (size_t i = 1; i < c.missed_count; i++)
        assert_true(strcmp(c.missed[i - 1].path, c.missed[i].path) < 0);
}

static int capture_what_is_closed(void)
{
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "dir");
    scratch_write(&s, "dir/inside", "x");
    scoped(snapshot_done) struct snapshot before = {0};
    scoped(capture_done) struct capture c = {0};
    if (snapshot_take(s.fd, &before, &e))
        return 1;
    scratch_write(&s, "secret", "x");
    if (fchmodat(s.fd, "secret", 0, 0) || fchmodat(s.fd, "dir", 0, 0))
        return 2;
    if (capture_take(s.fd, &before, &c, &e))
        return 3;
    if (c.count != 1 || strcmp(c.files[0].path, "secret") != 0 || c.files[0].has_sha256)
        return 4; /* above all, dir/inside is not called deleted */
    if (strcmp(why_missed(&c, "secret"), "cannot be read") != 0)
        return 5;
    return strcmp(why_missed(&c, "dir"), "cannot be read") == 0 ? 0 : 6;
}

static void what_cannot_be_read_is_missed_with_the_reason(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(capture_what_is_closed));
}

static void no_descriptor_is_left_open(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(scratch_done) struct scratch out = scratch_new();
    scoped(fd_closep) int own = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t before_count = entries(own);
    dig(&s, CAPTURE_DEPTH_MAX + 10);
    scratch_write(&s, "a", "x");
    scoped(snapshot_done) struct snapshot nothing = {.is_whole = true};
    scoped(capture_done) struct capture c = capture(&s, &nothing);
    assert_int_equal(c.count, 1);
    assert_int_equal(capture_copy(s.fd, out.fd, "a", 100, &e), 0);
    assert_int_equal(capture_copy(s.fd, out.fd, "a", 0, &e), -1);
    assert_int_equal(entries(own), before_count);
}

static void every_change_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(file_change_name(FILE_CREATED), "created");
    assert_string_equal(file_change_name(FILE_MODIFIED), "modified");
    assert_string_equal(file_change_name(FILE_DELETED), "deleted");
}

static void what_was_not_brought_is_listed_once_and_bounded(void **state)
{
    (void)state;
    scoped(capture_done) struct capture c = {0};
    char path[16];
    OK(capture_unbrought(&c, "a", "first", e));
    OK(capture_unbrought(&c, "a", "then", e));
    assert_int_equal(c.unbrought_count, 1);
    assert_string_equal(c.unbrought[0].reason, "then");
    for (int i = 1; i < CAPTURE_MISSED_MAX + 1; i++) {
        (void)snprintf(path, sizeof path, "f%d", i);
        OK(capture_unbrought(&c, path, "full", e));
    }
    assert_int_equal(c.unbrought_count, CAPTURE_MISSED_MAX);
    assert_int_equal(c.unbrought_more, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_brought_is_listed_once_and_bounded),
        cmocka_unit_test(what_a_run_did_is_told_and_nothing_else),
        cmocka_unit_test(a_name_says_what_a_file_is),
        cmocka_unit_test(caches_are_not_looked_at),
        cmocka_unit_test(only_regular_files_count_and_the_rest_is_said_once),
        cmocka_unit_test(a_file_replaced_by_a_link_is_deleted_and_the_other_way_created),
        cmocka_unit_test(a_directory_in_place_of_a_file_is_a_deletion),
        cmocka_unit_test(a_change_that_hides_its_time_is_seen),
        cmocka_unit_test(a_change_right_after_the_snapshot_is_seen),
        cmocka_unit_test(one_capture_begins_where_the_last_one_ended),
        cmocka_unit_test(what_is_missed_is_listed_up_to_a_limit_and_counted_beyond),
        cmocka_unit_test(what_cannot_be_read_is_missed_with_the_reason),
        cmocka_unit_test(no_descriptor_is_left_open),
        cmocka_unit_test(every_change_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
