#include "service/live.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

static void a_directory_is_made_opened_and_removed_with_everything_in_it(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch place = scratch_new();
    scoped(fd_closep) int fd = -1, again = -1;
    assert_int_equal(live_make(place.fd, "ses_1", &fd, &e), 0);
    assert_int_equal(live_put(fd, "a/b/c.txt", "text", 4, &e), 0);
    assert_int_equal(fchmodat(place.fd, "ses_1", 0, 0), 0); /* as a session might */
    assert_int_equal(live_open(place.fd, "ses_1", &again, &e), 0);
    assert_int_equal(faccessat(again, "a/b/c.txt", F_OK, 0), 0);
    live_remove(place.fd, "ses_1");
    assert_int_equal(faccessat(place.fd, "ses_1", F_OK, 0), -1);
    live_remove(place.fd, "ses_1"); /* twice is no mistake */
}

static void one_that_is_missing_is_made_again(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch place = scratch_new();
    scoped(fd_closep) int fd = -1;
    assert_int_equal(live_open(place.fd, "ses_2", &fd, &e), 0);
    assert_true(fd >= 0);
}

static void files_are_put_below_the_directory_and_nowhere_else(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch place = scratch_new();
    scoped(fd_closep) int fd = -1;
    assert_int_equal(live_make(place.fd, "ses_3", &fd, &e), 0);
    static const char *const wrong[] = {"",     "/",   "/x",  "..",   "../x", "a/../x",
                                        "a//b", "./x", "a/.", "a/..", "a/"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(live_put(fd, wrong[i], "x", 1, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
    assert_int_equal(live_put(fd, "x", "1", 1, &e), 0);
    assert_int_equal(live_put(fd, "x", "2", 1, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_int_equal(live_put(fd, "x/y", "2", 1, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
}

static void a_copy_has_the_files_and_not_the_links(void **state)
{
    (void)state;
    struct err e = {0};
    char text[8] = "";
    scoped(scratch_done) struct scratch place = scratch_new();
    scoped(fd_closep) int from = -1, to = -1;
    assert_int_equal(live_make(place.fd, "ses_4", &from, &e), 0);
    assert_int_equal(live_make(place.fd, "ses_5", &to, &e), 0);
    assert_int_equal(live_put(from, "d/file", "text", 4, &e), 0);
    assert_int_equal(symlinkat("/etc/passwd", from, "link"), 0);
    assert_int_equal(live_copy(from, to, 4, &e), 0);
    scoped(fd_closep) int fd = openat(to, "d/file", O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 4);
    assert_string_equal(text, "text");
    assert_int_equal(faccessat(to, "link", F_OK, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(live_copy(from, to, 3, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_made_opened_and_removed_with_everything_in_it),
        cmocka_unit_test(one_that_is_missing_is_made_again),
        cmocka_unit_test(files_are_put_below_the_directory_and_nowhere_else),
        cmocka_unit_test(a_copy_has_the_files_and_not_the_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
