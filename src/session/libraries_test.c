/* What libraries.h promises. */
#include "session/libraries.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "wire/jail.h"

struct world {
    struct scratch dir; /* from/ is what is copied, to/ and like/ are copies */
    char from[96], missing[96];
    struct jail_library list[2];
    int to, like;
    struct libraries_plan plan;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    w->dir = scratch_new();
    static const char *const dirs[] = {
        "from", "from/pkg", "from/pkg/tests", "from/pkg/test", "from/tests.old", "to", "like"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        scratch_mkdir(&w->dir, dirs[i]);
    scratch_write(&w->dir, "from/one.py", "x = 1\n");
    scratch_write(&w->dir, "from/pkg/two.py", "x = 2\n");
    scratch_write(&w->dir, "from/pkg/empty.py", "");
    scratch_write(&w->dir, "from/pkg/tests/test_two.py", "assert x\n");
    scratch_write(&w->dir, "from/pkg/test/support.py", "x = 3\n");
    (void)snprintf(w->from, sizeof w->from, "%s/from", w->dir.path);
    (void)snprintf(w->missing, sizeof w->missing, "%s/missing", w->dir.path);
    w->list[0] = (struct jail_library){"name", w->from};
    w->list[1] = (struct jail_library){"missing", w->missing};
    w->to = openat(w->dir.fd, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->like = openat(w->dir.fd, "like", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->plan = (struct libraries_plan){w->list, 2, w->to, -1, NULL};
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    (void)close(w->to);
    (void)close(w->like);
    scratch_done(&w->dir);
    free(w);
    return 0;
}

static void copy(const struct libraries_plan *plan)
{
    struct err e = {0};
    if (libraries_copy(plan, &e))
        fail_msg("%s", e.text);
}

static struct stat look(int dir_fd, const char *path)
{
    struct stat st;
    if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW))
        fail_msg("%s is not there", path);
    return st;
}

static bool has(int dir_fd, const char *path)
{
    return faccessat(dir_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void a_copy_has_names_content_and_times(void **state)
{
    struct world *w = *state;
    static const char *const pairs[][2] = {{"from/one.py", "name/one.py"},
                                           {"from/pkg/two.py", "name/pkg/two.py"},
                                           {"from/pkg/empty.py", "name/pkg/empty.py"},
                                           {"from/pkg", "name/pkg"},
                                           {"from", "name"}};
    copy(&w->plan);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct stat from = look(w->dir.fd, pairs[i][0]), to = look(w->to, pairs[i][1]);
        assert_int_equal(from.st_mtim.tv_sec, to.st_mtim.tv_sec);
        assert_int_equal(from.st_mtim.tv_nsec, to.st_mtim.tv_nsec);
        if (S_ISREG(from.st_mode))
            assert_int_equal(from.st_size, to.st_size);
    }
    char text[16] = "";
    scoped(fd_closep) int fd = openat(w->to, "name/pkg/two.py", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text), 6);
    assert_string_equal(text, "x = 2\n");
    assert_false(has(w->to, "missing"));
}

static void tests_are_left_out_and_what_is_only_called_alike_is_not(void **state)
{
    struct world *w = *state;
    copy(&w->plan);
    assert_false(has(w->to, "name/pkg/tests"));
    assert_true(has(w->to, "name/pkg/test/support.py"));
    assert_true(has(w->to, "name/tests.old"));
}

static void everybody_may_read_and_nobody_write(void **state)
{
    struct world *w = *state;
    mode_t before = umask(077);
    scratch_write(&w->dir, "from/tool", "#!/bin/sh\n");
    scratch_write(&w->dir, "from/secret", "not for others\n");
    assert_int_equal(fchmodat(w->dir.fd, "from/tool", 04755, 0), 0);
    assert_int_equal(fchmodat(w->dir.fd, "from/secret", 0600, 0), 0);
    copy(&w->plan);
    (void)umask(before);
    assert_int_equal(look(w->to, "name/one.py").st_mode & 07777, 0444);
    assert_int_equal(look(w->to, "name/tool").st_mode & 07777, 0555);
    assert_int_equal(look(w->to, "name/pkg").st_mode & 07777, 0755);
    assert_false(has(w->to, "name/secret"));
}

static void links_are_copied_as_links_and_pipes_not_at_all(void **state)
{
    struct world *w = *state;
    char target[32] = "";
    assert_int_equal(symlinkat("../nowhere", w->dir.fd, "from/link"), 0);
    assert_int_equal(mkfifoat(w->dir.fd, "from/pipe", 0644), 0);
    copy(&w->plan);
    assert_true(readlinkat(w->to, "name/link", target, sizeof target - 1) > 0);
    assert_string_equal(target, "../nowhere");
    assert_false(has(w->to, "name/pipe"));
}

static void what_has_not_changed_is_linked_to_an_older_copy(void **state)
{
    struct world *w = *state;
    struct libraries_plan older = w->plan;
    const struct timespec times[2] = {{.tv_sec = 7}, {.tv_sec = 7}};
    older.to_fd = w->like;
    w->plan.like_fd = w->like;
    copy(&older);
    scratch_write(&w->dir, "from/one.py", "x = 4\n"); /* as long as before */
    assert_int_equal(utimensat(w->dir.fd, "from/one.py", times, 0), 0);
    copy(&w->plan);
    assert_int_equal(look(w->to, "name/pkg/two.py").st_ino,
                     look(w->like, "name/pkg/two.py").st_ino);
    assert_int_not_equal(look(w->to, "name/one.py").st_ino, look(w->like, "name/one.py").st_ino);
    char text[16] = "";
    scoped(fd_closep) int fd = openat(w->to, "name/one.py", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text), 6);
    assert_string_equal(text, "x = 4\n");
}

static void its_size_is_known_before(void **state)
{
    struct world *w = *state;
    uint64_t before = 0, after = 0;
    struct err e = {0};
    assert_int_equal(libraries_measure(&w->plan, &before, &e), 0);
    scratch_write(&w->dir, "from/pkg/tests/large.py", "not copied, so it does not count\n");
    assert_int_equal(libraries_measure(&w->plan, &after, &e), 0);
    assert_true(before > 0);
    assert_int_equal(before, after);
    scoped(freep) char *text = calloc(1, 100001);
    memset(text, 'x', 100000);
    scratch_write(&w->dir, "from/large.py", text);
    assert_int_equal(libraries_measure(&w->plan, &after, &e), 0);
    assert_in_range(after, before + 100000, before + 200000);
}

/* Later than what was changed before, as file systems tell the time. */
static int64_t later(struct world *w)
{
    int64_t now_us = clock_wall_us();
    for (int64_t seen_us = 0; seen_us <= now_us;) {
        scratch_write(&w->dir, "clock", "");
        struct stat st = look(w->dir.fd, "clock");
        seen_us = st.st_ctim.tv_sec * 1000000LL + st.st_ctim.tv_nsec / 1000;
    }
    return clock_wall_us();
}

static void a_change_meanwhile_is_noticed(void **state)
{
    struct world *w = *state;
    struct err e = {0};
    int64_t since_us = later(w);
    assert_int_equal(libraries_check_since(&w->plan, since_us, &e), 0);
    (void)later(w);
    assert_int_equal(unlinkat(w->dir.fd, "from/pkg/empty.py", 0), 0);
    assert_int_equal(libraries_check_since(&w->plan, since_us, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
}

static bool count_down(void *arg)
{
    int *left = arg;
    return --*left > 0;
}

static void it_ends_when_it_is_not_wished_for(void **state)
{
    struct world *w = *state;
    int left = 3;
    const struct libraries_wish wish = {count_down, &left};
    struct err e = {0};
    w->plan.wish = &wish;
    assert_int_equal(libraries_copy(&w->plan, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_int_equal(left, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_copy_has_names_content_and_times),
        TEST(tests_are_left_out_and_what_is_only_called_alike_is_not),
        TEST(everybody_may_read_and_nobody_write),
        TEST(links_are_copied_as_links_and_pipes_not_at_all),
        TEST(what_has_not_changed_is_linked_to_an_older_copy),
        TEST(its_size_is_known_before),
        TEST(a_change_meanwhile_is_noticed),
        TEST(it_ends_when_it_is_not_wished_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
