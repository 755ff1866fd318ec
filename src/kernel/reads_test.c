#include "kernel/reads.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "kernel/control.h"

/* What a run is told to have read: "a b? c ..." with a mark behind guesses; "..." when it is partial. */
static const char *told(void)
{
    static char text[4096];
    scoped(buf_done) struct buf out = BUF_INIT(4 << 20);
    struct err e = {0};
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct frame frame;
    size_t len = 0;
    text[0] = '\0';
    reads_end(&out);
    assert_int_equal(frame_fill(&r, out.bytes, out.len, &e), 0);
    assert_int_equal(frame_next(&r, &frame, &e), 1);
    assert_int_equal(frame.kind, FRAME_READS);
    for (struct field f = {0}; field_next(&frame, &f) && len + f.len + 8 < sizeof text;)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s%s", len ? " " : "",
                                f.tag == FIELD_PARTIAL ? 0 : (int)f.len, (const char *)f.bytes,
                                f.tag == FIELD_GUESS     ? "?"
                                : f.tag == FIELD_PARTIAL ? "..."
                                                         : "");
    return text;
}

static void opening_for_reading_is_told_below_the_place_only(void **state)
{
    (void)state;
    reads_open(AT_FDCWD, "before.csv", O_RDONLY); /* no run goes on */
    reads_begin();
    reads_open(AT_FDCWD, "a.csv", O_RDONLY);
    reads_open(AT_FDCWD, "./b/../b//c.csv", O_RDONLY | O_CLOEXEC);
    reads_open(AT_FDCWD, "/mnt/data/d.csv", O_RDONLY);
    reads_open(AT_FDCWD, "/mnt/data", O_RDONLY);
    reads_open(AT_FDCWD, "/mnt/database", O_RDONLY);
    reads_open(AT_FDCWD, "/etc/passwd", O_RDONLY);
    reads_open(AT_FDCWD, "../outside", O_RDONLY);
    reads_open(AT_FDCWD, "../../../../../../../mnt/data/e.csv", O_RDONLY);
    reads_open(AT_FDCWD, "a.csv", O_RDONLY);
    reads_open(AT_FDCWD, "folder", O_RDONLY | O_DIRECTORY);
    reads_open(AT_FDCWD, NULL, O_RDONLY);
    reads_open(AT_FDCWD, "", O_RDONLY);
    assert_string_equal(told(), "a.csv b/c.csv d.csv e.csv");
    reads_begin();
    assert_string_equal(told(), "");
}

static void what_a_run_wrote_first_it_has_not_read(void **state)
{
    (void)state;
    reads_begin();
    reads_open(AT_FDCWD, "new", O_WRONLY | O_CREAT | O_TRUNC);
    reads_open(AT_FDCWD, "new", O_RDONLY);
    reads_open(AT_FDCWD, "exclusive", O_RDWR | O_CREAT | O_EXCL);
    reads_open(AT_FDCWD, "exclusive", O_RDONLY);
    reads_open(AT_FDCWD, "both", O_RDONLY);
    reads_open(AT_FDCWD, "both", O_WRONLY | O_TRUNC);
    reads_open(AT_FDCWD, "log", O_WRONLY | O_APPEND | O_CREAT);
    reads_rename("from", "to");
    reads_open(AT_FDCWD, "to", O_RDONLY);
    assert_string_equal(told(), "both log from");
}

static void a_directory_s_descriptor_is_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(AT_FDCWD, "sub", 0700), 0);
    scoped(fd_closep) int fd = openat(AT_FDCWD, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    reads_begin();
    reads_open(fd, "x", O_RDONLY);
    reads_open(fd, "../y", O_RDONLY);
    reads_open(999, "z", O_RDONLY);
    assert_string_equal(told(), "sub/x y");
}

static void make(const char *name)
{
    int fd = openat(AT_FDCWD, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void words_that_name_files_are_guesses(void **state)
{
    static const char line[] =
        "cat in.csv 'other.csv'|sort >out.csv;wc <third.csv >>log.txt missing";
    static const char names[][16] = {"in.csv", "other.csv", "out.csv", "third.csv", "log.txt"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        make(names[i]);
    reads_begin();
    reads_words(line, strlen(line), NULL);
    assert_string_equal(told(), "in.csv? other.csv? third.csv? log.txt?");
    reads_begin();
    reads_words("in.csv", 6, "/nowhere");
    assert_string_equal(told(), "");
    reads_begin();
    reads_words("../in.csv", 9, "sub"); /* seen from a directory below */
    assert_string_equal(told(), "in.csv?");
    reads_begin();
    reads_words("in.csv", 6, NULL);
    reads_open(AT_FDCWD, "in.csv", O_RDONLY); /* no guess any more */
    reads_partial();
    assert_string_equal(told(), "in.csv ...");
}

static size_t count_told(bool *ret_partial)
{
    scoped(buf_done) struct buf out = BUF_INIT(4 << 20);
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct err e = {0};
    struct frame frame;
    size_t count = 0;
    reads_end(&out);
    *ret_partial = false;
    assert_int_equal(frame_fill(&r, out.bytes, out.len, &e), 0);
    assert_int_equal(frame_next(&r, &frame, &e), 1);
    for (struct field f = {0}; field_next(&frame, &f);)
        if (f.tag == FIELD_PARTIAL)
            *ret_partial = true;
        else
            count++;
    return count;
}

static void exactly_the_limit_is_told_and_one_more_makes_it_partial(void **state)
{
    char name[32];
    bool is_partial;
    (void)state;
    for (int more = 0; more < 2; more++) {
        reads_begin();
        for (int i = 0; i < READS_MAX + more; i++) {
            (void)snprintf(name, sizeof name, "file-%d", i);
            reads_open(AT_FDCWD, name, O_RDONLY);
        }
        assert_int_equal(count_told(&is_partial), READS_MAX);
        assert_int_equal(is_partial, more);
    }
}

static void a_path_of_exactly_the_limit_is_told(void **state)
{
    char path[READ_PATH_MAX + 2];
    bool is_partial;
    (void)state;
    memset(path, 'a', sizeof path);
    for (size_t i = 100; i < READ_PATH_MAX; i += 100)
        path[i] = '/';
    path[READ_PATH_MAX] = '\0';
    reads_begin();
    reads_open(AT_FDCWD, path, O_RDONLY);
    assert_int_equal(count_told(&is_partial), 1);
    assert_false(is_partial);
    path[READ_PATH_MAX] = 'a';
    path[READ_PATH_MAX + 1] = '\0';
    reads_begin();
    reads_open(AT_FDCWD, path, O_RDONLY);
    assert_int_equal(count_told(&is_partial), 0);
    assert_true(is_partial);
}

static void a_child_that_was_waited_for_makes_it_partial(void **state)
{
    (void)state;
    reads_begin();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        reads_open(AT_FDCWD, "in-the-child", O_RDONLY);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_string_equal(told(), "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_for_reading_is_told_below_the_place_only),
        cmocka_unit_test(what_a_run_wrote_first_it_has_not_read),
        cmocka_unit_test(a_directory_s_descriptor_is_followed),
        cmocka_unit_test(words_that_name_files_are_guesses),
        cmocka_unit_test(exactly_the_limit_is_told_and_one_more_makes_it_partial),
        cmocka_unit_test(a_path_of_exactly_the_limit_is_told),
        cmocka_unit_test(a_child_that_was_waited_for_makes_it_partial),
    };
    struct err e = {0};
    struct scratch s = scratch_new();
    int ends[2];
    if (chdir(s.path) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
        control_init(ends[0], &e))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (chdir("/"))
        return 1;
    scratch_done(&s);
    return failed;
}
