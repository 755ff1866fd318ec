#include "base/graft.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "base/walk.h"

static struct graft_result apply(const struct scratch *from, const struct scratch *to,
                                 enum graft_removal removal)
{
    struct graft_result r = {0};
    OK(graft(from->fd, to->fd, removal, &r, e));
    return r;
}

static void whiteout(const struct scratch *s, const char *path)
{
    assert_int_equal(mknodat(s->fd, path, S_IFCHR, makedev(0, 0)), 0);
}

static bool is_whiteout(const struct scratch *s, const char *path)
{
    struct stat st;
    return fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) &&
           st.st_rdev == makedev(0, 0);
}

static bool holds(const struct scratch *s, const char *path, const char *text)
{
    char bytes[64] = {0};
    scoped(fd_closep) int fd = openat(s->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && read(fd, bytes, sizeof bytes - 1) >= 0 && strcmp(bytes, text) == 0;
}

static mode_t mode_of(const struct scratch *s, const char *path)
{
    struct stat st;
    assert_int_equal(fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static bool exists(const struct scratch *s, const char *path)
{
    return faccessat(s->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Everything below, directories and leftovers too. */
static size_t count(const struct scratch *s)
{
    struct walk *w = NULL;
    OK(walk_new(s->fd, &w, e));
    size_t n = 0;
    struct walk_entry entry;
    while (walk_next(w, &entry)) {
        n++;
        if (S_ISDIR(entry.st.stx_mode))
            assert_int_equal(walk_enter(w), 0);
    }
    walk_free(w);
    return n;
}

static void files_are_put_and_removed_and_nothing_else_is_touched(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scratch_mkdir(&from, "new");
    scratch_mkdir(&from, "new/deeper");
    scratch_mkdir(&from, "empty");
    scratch_write(&from, "new/deeper/a", "put");
    scratch_write(&from, "tool", "put too");
    assert_int_equal(fchmodat(from.fd, "tool", 0700, 0), 0);
    scratch_mkdir(&from, "old");
    whiteout(&from, "old/gone");
    whiteout(&from, "old/was never there");
    scratch_mkdir(&from, "nor this");
    whiteout(&from, "nor this/file");

    scratch_mkdir(&to, "old");
    scratch_write(&to, "old/gone", "x");
    scratch_write(&to, "stays", "untouched");
    struct graft_result r = apply(&from, &to, GRAFT_UNLINK);
    assert_int_equal(r.put, 2);
    assert_int_equal(r.removed, 1);
    assert_int_equal(r.failed, 0);
    assert_string_equal(r.first_failed, "");
    assert_true(holds(&to, "new/deeper/a", "put"));
    assert_int_equal(mode_of(&to, "new/deeper/a"), 0644);
    assert_int_equal(mode_of(&to, "tool"), 0755);
    assert_true(holds(&to, "stays", "untouched"));
    assert_true(exists(&to, "old"));
    assert_false(exists(&to, "empty"));
    assert_int_equal(count(&to), 6); /* new, new/deeper, its file, tool, old, stays */
}

static void a_file_arrives_with_its_time(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    const struct timespec when = {.tv_sec = 1000000007, .tv_nsec = 123456000};
    struct stat st;
    scratch_write(&from, "a", "new");
    scratch_write(&to, "a", "old");
    assert_int_equal(utimensat(from.fd, "a", (const struct timespec[]){when, when}, 0), 0);
    assert_int_equal(apply(&from, &to, GRAFT_UNLINK).put, 1);
    assert_int_equal(fstatat(to.fd, "a", &st, 0), 0);
    assert_int_equal(st.st_mtim.tv_sec, when.tv_sec);
    assert_int_equal(st.st_mtim.tv_nsec, when.tv_nsec);
}

static void whoever_has_the_old_file_open_keeps_it(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scratch_write(&from, "a", "new");
    scratch_write(&to, "a", "old");
    scoped(fd_closep) int fd = openat(to.fd, "a", O_RDONLY | O_CLOEXEC);
    assert_int_equal(apply(&from, &to, GRAFT_UNLINK).put, 1);
    char bytes[8] = {0};
    assert_int_equal(read(fd, bytes, sizeof bytes), 3);
    assert_string_equal(bytes, "old");
    assert_true(holds(&to, "a", "new"));
}

static void large_files_arrive_whole(void **state)
{
    (void)state;
    enum { SIZE = (1 << 20) + 17 };
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scoped(scratch_done) struct scratch elsewhere = scratch_new_fast(); /* mostly another device */
    scoped(freep) char *bytes = malloc(SIZE), *copy = malloc(SIZE + 1);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 31 % 251);
    scoped(fd_closep) int fd = openat(from.fd, "big", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, bytes, SIZE), SIZE);
    const struct scratch *targets[] = {&to, &elsewhere};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(apply(&from, targets[i], GRAFT_UNLINK).put, 1);
        scoped(fd_closep) int got = openat(targets[i]->fd, "big", O_RDONLY | O_CLOEXEC);
        assert_int_equal(read(got, copy, SIZE + 1), SIZE);
        assert_memory_equal(bytes, copy, SIZE);
    }
}

static void what_is_in_the_way_is_left_or_replaced(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scoped(scratch_done) struct scratch outside = scratch_new();
    scratch_write(&outside, "canary", "alive");
    char canary[128];
    snprintf(canary, sizeof canary, "%s/canary", outside.path);
    static const char *const names[] = {"directory", "fifo", "link"};
    for (size_t i = 0; i < 3; i++)
        scratch_write(&from, names[i], "new");
    scratch_mkdir(&from, "fifo as parent");
    scratch_write(&from, "fifo as parent/a", "new");
    whiteout(&from, "directory to remove");

    scratch_mkdir(&to, "directory");
    scratch_write(&to, "directory/kept", "x");
    scratch_mkdir(&to, "directory to remove");
    assert_int_equal(mkfifoat(to.fd, "fifo", 0600), 0);
    assert_int_equal(mkfifoat(to.fd, "fifo as parent", 0600), 0);
    assert_int_equal(symlinkat(canary, to.fd, "link"), 0);
    struct graft_result r = apply(&from, &to, GRAFT_UNLINK);
    assert_int_equal(r.put, 2);
    assert_int_equal(r.failed, 3);
    assert_int_not_equal(r.first_errno, 0);
    assert_true(strlen(r.first_failed) > 0);
    assert_true(holds(&to, "directory/kept", "x"));
    assert_true(holds(&to, "fifo", "new"));
    assert_true(holds(&to, "link", "new"));
    assert_true(holds(&outside, "canary", "alive"));
    assert_int_equal(count(&to), 6);
}

static void a_link_on_the_way_is_not_followed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scoped(scratch_done) struct scratch outside = scratch_new();
    scratch_write(&outside, "canary", "alive");
    scratch_mkdir(&from, "a");
    scratch_mkdir(&from, "a/b");
    scratch_write(&from, "a/canary", "hostile");
    scratch_write(&from, "a/b/c", "hostile");
    whiteout(&from, "a/other");
    scratch_write(&outside, "other", "alive");
    assert_int_equal(symlinkat(outside.path, to.fd, "a"), 0);
    static const enum graft_removal removals[] = {GRAFT_UNLINK, GRAFT_WHITEOUT};
    for (size_t i = 0; i < 2; i++) {
        struct graft_result r = apply(&from, &to, removals[i]);
        assert_int_equal(r.put + r.removed, 0);
        assert_int_equal(r.failed, 3);
        assert_true(holds(&outside, "canary", "alive"));
        assert_int_equal(count(&outside), 2);
        assert_int_equal(count(&to), 1);
    }
}

static void other_things_among_the_changes_are_counted(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    assert_int_equal(symlinkat("/etc/passwd", from.fd, "link"), 0);
    assert_int_equal(mkfifoat(from.fd, "fifo", 0600), 0);
    scratch_write(&from, "a", "x");
    struct graft_result r = apply(&from, &to, GRAFT_UNLINK);
    assert_int_equal(r.put, 1);
    assert_int_equal(r.failed, 2);
    assert_int_equal(r.first_errno, EINVAL);
    assert_int_equal(count(&to), 1);
}

static void an_unmounted_upper_layer_gets_whiteouts(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scratch_mkdir(&from, "d");
    whiteout(&from, "d/in upper");
    whiteout(&from, "d/in lower");
    scratch_mkdir(&from, "e");
    whiteout(&from, "e/in lower");
    scratch_mkdir(&to, "d");
    scratch_write(&to, "d/in upper", "x");
    struct graft_result r = apply(&from, &to, GRAFT_WHITEOUT);
    assert_int_equal(r.removed, 3);
    assert_true(is_whiteout(&to, "d/in upper"));
    assert_true(is_whiteout(&to, "d/in lower"));
    assert_true(is_whiteout(&to, "e/in lower"));
    assert_int_equal(count(&to), 5);
}

static void a_removed_directory_of_an_upper_layer_comes_back_opaque(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scratch_mkdir(&from, "d");
    scratch_mkdir(&from, "d/e");
    scratch_write(&from, "d/e/f", "new");
    whiteout(&to, "d");
    assert_int_equal(apply(&from, &to, GRAFT_UNLINK).failed, 1);
    assert_int_equal(apply(&from, &to, GRAFT_WHITEOUT).put, 1);
    assert_true(holds(&to, "d/e/f", "new"));
    assert_int_equal(count(&to), 3);
    char value[4], path[128];
    snprintf(path, sizeof path, "%s/d", to.path);
    assert_int_equal(lgetxattr(path, "user.overlay.opaque", value, sizeof value), 1);
    snprintf(path, sizeof path, "%s/d/e", to.path);
    assert_int_equal(lgetxattr(path, "user.overlay.opaque", value, sizeof value), -1);
}

static int write_where_it_is_not_allowed(void)
{
    struct err e = {0};
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scratch_mkdir(&from, "closed");
    scratch_write(&from, "closed/a", "x");
    scratch_mkdir(&from, "hidden");
    scratch_write(&from, "hidden/a", "x");
    scratch_write(&from, "open", "x");
    scratch_mkdir(&to, "closed");
    scratch_mkdir(&to, "hidden");
    if (fchmodat(to.fd, "closed", 0500, 0) || fchmodat(to.fd, "hidden", 0, 0))
        return 1;
    struct graft_result r;
    if (graft(from.fd, to.fd, GRAFT_UNLINK, &r, &e))
        return 2;
    if (r.put != 1 || r.failed != 2 || r.first_errno != EACCES)
        return 3;
    if (fchmodat(from.fd, "open", 0, 0) || graft(from.fd, to.fd, GRAFT_UNLINK, &r, &e) == 0)
        return 4;
    return e.code == ERR_DENIED ? 0 : 5;
}

static void what_may_not_be_written_is_left_out(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(write_where_it_is_not_allowed));
}

struct swapping {
    int dir_fd, inner_fd;
    atomic_bool is_over;
};

static void *swap(void *arg)
{
    struct swapping *s = arg;
    while (!atomic_load(&s->is_over)) {
        (void)renameat2(s->dir_fd, "d", s->dir_fd, "link", RENAME_EXCHANGE);
        (void)renameat2(s->inner_fd, "e", s->inner_fd, "link", RENAME_EXCHANGE);
    }
    return NULL;
}

/* A directory on the way is exchanged for a link to the outside as fast as a thread can. */
static void a_directory_swapped_for_a_link_leads_nowhere(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scoped(scratch_done) struct scratch outside = scratch_new();
    scratch_mkdir(&outside, "e");
    scratch_write(&outside, "canary", "alive");
    scratch_write(&outside, "e/canary", "alive");
    scratch_mkdir(&from, "d");
    scratch_mkdir(&from, "d/e");
    scratch_write(&from, "d/canary", "hostile");
    scratch_write(&from, "d/e/canary", "hostile");
    scratch_write(&from, "d/new", "hostile");
    whiteout(&from, "d/e/gone");
    scratch_mkdir(&to, "d");
    scratch_mkdir(&to, "d/e");
    assert_int_equal(symlinkat(outside.path, to.fd, "link"), 0);
    assert_int_equal(symlinkat(outside.path, to.fd, "d/link"), 0);

    scoped(fd_closep) int inner_fd = openat(to.fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct swapping swapping = {.dir_fd = to.fd, .inner_fd = inner_fd};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, swap, &swapping), 0);
    size_t put = 0, left_out = 0;
    int64_t now_us = clock_us(), least_us = now_us + 1000000, most_us = now_us + 30000000;
    while (now_us < least_us || ((put < 100 || left_out < 100) && now_us < most_us)) {
        struct graft_result r = apply(&from, &to, GRAFT_UNLINK);
        put += r.put;
        left_out += r.failed;
        now_us = clock_us();
    }
    atomic_store(&swapping.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(put >= 100 && left_out >= 100);
    assert_true(holds(&outside, "canary", "alive"));
    assert_true(holds(&outside, "e/canary", "alive"));
    assert_int_equal(count(&outside), 3);
}

static void a_path_too_long_is_counted_and_the_rest_goes_on(void **state)
{
    (void)state;
    char name[251];
    memset(name, 'n', 250);
    name[250] = '\0';
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scratch_write(&from, "short", "x");
    int at = fcntl(from.fd, F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(mkdirat(at, name, 0755), 0);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(at);
        at = next;
    }
    (void)close(at);
    struct graft_result r = apply(&from, &to, GRAFT_UNLINK);
    assert_int_equal(r.put, 1);
    assert_int_equal(r.failed, 1);
    assert_int_equal(r.first_errno, ENAMETOOLONG);
    assert_int_equal(strlen(r.first_failed), 255);
}

static void no_descriptor_is_left_open(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    scratch_mkdir(&from, "d");
    scratch_write(&from, "d/a", "x");
    whiteout(&from, "d/b");
    assert_int_equal(mkfifoat(to.fd, "d", 0600), 0);
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)close(before);
    assert_int_equal(apply(&from, &to, GRAFT_WHITEOUT).failed, 2);
    assert_int_equal(unlinkat(to.fd, "d", 0), 0);
    assert_int_equal(apply(&from, &to, GRAFT_WHITEOUT).put, 1);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)close(after);
    assert_int_equal(before, after);
}

static void what_it_puts_is_counted(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    struct graft_result result;
    struct err e = {0};
    scratch_write(&from, "a", "one");
    scratch_write(&from, "b", "two");
    assert_int_equal(0, mkdirat(to.fd, "b", 0755));
    scratch_write(&to, "b/own", "in the way");
    assert_int_equal(0, graft(from.fd, to.fd, GRAFT_UNLINK, &result, &e));
    assert_int_equal(1, result.put);
    assert_int_equal(1, result.failed);
    assert_int_equal(8192, result.bytes);
    assert_int_equal(16384, result.begun_bytes);
    assert_true(exists(&to, "a"));
}

static void what_is_late_is_left_out(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch from = scratch_new(), to = scratch_new();
    struct graft_result result;
    struct err e = {0};
    int64_t until_us = clock_us() - 1;
    scratch_write(&from, "a", "one");
    scratch_write(&from, "b", "two");
    assert_int_equal(0, graft_until(from.fd, to.fd, GRAFT_UNLINK, &until_us, &result, &e));
    assert_int_equal(0, result.put);
    assert_int_equal(2, result.failed);
    assert_int_equal(ETIME, result.first_errno);
    assert_false(exists(&to, "a") || exists(&to, "b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_put_and_removed_and_nothing_else_is_touched),
        cmocka_unit_test(a_file_arrives_with_its_time),
        cmocka_unit_test(whoever_has_the_old_file_open_keeps_it),
        cmocka_unit_test(large_files_arrive_whole),
        cmocka_unit_test(what_is_in_the_way_is_left_or_replaced),
        cmocka_unit_test(a_link_on_the_way_is_not_followed),
        cmocka_unit_test(other_things_among_the_changes_are_counted),
        cmocka_unit_test(an_unmounted_upper_layer_gets_whiteouts),
        cmocka_unit_test(a_removed_directory_of_an_upper_layer_comes_back_opaque),
        cmocka_unit_test(what_may_not_be_written_is_left_out),
        cmocka_unit_test(a_directory_swapped_for_a_link_leads_nowhere),
        cmocka_unit_test(a_path_too_long_is_counted_and_the_rest_goes_on),
        cmocka_unit_test(what_it_puts_is_counted),
        cmocka_unit_test(what_is_late_is_left_out),
        cmocka_unit_test(no_descriptor_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
