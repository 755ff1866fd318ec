/* What usage.h promises about the tree. What processes hold is in held_test.c. */
#include "sandbox/usage.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

enum { MEGA = 1 << 20 };

static void usage_freep(struct usage **up)
{
    usage_free(*up);
}

static struct usage *watch(const struct scratch *s)
{
    struct err e = {0};
    struct usage *u = NULL;
    if (usage_new(s->fd, &u, &e))
        fail_msg("%s", e.text);
    return u;
}

static void look(struct usage *u)
{
    while (!usage_step(u, 256))
        ;
}

static void fill(int dir_fd, const char *name, size_t megabytes)
{
    scoped(fd_closep) int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    scoped(freep) char *chunk = calloc(1, MEGA);
    assert_non_null(chunk);
    memset(chunk, 'x', MEGA);
    for (size_t i = 0; i < megabytes; i++)
        assert_int_equal(write(fd, chunk, MEGA), MEGA);
}

/* Metadata of the file system may take a little more than the content. */
static void assert_disk(const struct usage *u, uint64_t megabytes)
{
    assert_in_range(usage_disk(u), megabytes * MEGA, megabytes * MEGA + MEGA / 4);
}

static void only_what_grew_counts(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    fill(s.fd, "there before", 3);
    scoped(usage_freep) struct usage *u = watch(&s);
    look(u);
    assert_int_equal(usage_disk(u), 0);
    assert_int_equal(usage_files(u), 0);
    fill(s.fd, "new", 2);
    scratch_mkdir(&s, "dir");
    fill(s.fd, "dir/new", 1);
    look(u);
    assert_disk(u, 3);
    assert_int_equal(usage_files(u), 3);
    assert_true(usage_round_us(u) > 0);
}

static void what_shrank_is_zero_growth(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    fill(s.fd, "there before", 3);
    scoped(usage_freep) struct usage *u = watch(&s);
    assert_int_equal(unlinkat(s.fd, "there before", 0), 0);
    look(u);
    assert_int_equal(usage_disk(u), 0);
    assert_int_equal(usage_files(u), 0);
    fill(s.fd, "in its place", 3);
    look(u);
    assert_in_range(usage_disk(u), 0, MEGA / 4);
}

static void the_total_tells_what_was_deleted_and_written_again(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    fill(s.fd, "there before", 3);
    scoped(usage_freep) struct usage *u = watch(&s);
    struct usage_total all = usage_total(u);
    assert_in_range(all.bytes, 3 * MEGA, 3 * MEGA + MEGA / 4);
    assert_int_equal(unlinkat(s.fd, "there before", 0), 0);
    look(u);
    assert_true(usage_total(u).bytes < MEGA);
    fill(s.fd, "again", 2);
    look(u);
    assert_in_range(usage_total(u).bytes, 2 * MEGA, 2 * MEGA + MEGA / 4);
    assert_int_equal(usage_total(u).files, all.files);
    assert_int_equal(usage_disk(u), 0); /* which it still has not grown by */
}

static void a_round_that_was_begun_anew_sees_what_came_meanwhile(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "dir");
    scoped(usage_freep) struct usage *u = watch(&s);
    assert_false(usage_step(u, 1)); /* beyond the root's own entries, soon */
    fill(s.fd, "new", 2);
    usage_restart(u);
    look(u);
    assert_disk(u, 2);
}

static void blocks_count_and_not_sizes(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(usage_freep) struct usage *u = watch(&s);
    scratch_write(&s, "sparse", "x");
    scoped(fd_closep) int sparse = openat(s.fd, "sparse", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(sparse, (off_t)1 << 40), 0);
    look(u);
    assert_in_range(usage_disk(u), 1, MEGA / 4);

    scoped(fd_closep) int reserved = openat(s.fd, "r", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(fallocate(reserved, FALLOC_FL_KEEP_SIZE, 0, 4 * MEGA), 0);
    look(u);
    assert_disk(u, 4);
}

static void hard_links_count_once(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(usage_freep) struct usage *u = watch(&s);
    fill(s.fd, "file", 2);
    scratch_mkdir(&s, "dir");
    assert_int_equal(linkat(s.fd, "file", s.fd, "same", 0), 0);
    assert_int_equal(linkat(s.fd, "file", s.fd, "dir/same", 0), 0);
    look(u);
    assert_disk(u, 2);
    assert_int_equal(usage_files(u), 2);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(usage_freep) struct usage *u = watch(&s);
    assert_int_equal(symlinkat("/usr", s.fd, "usr"), 0);
    assert_int_equal(symlinkat(".", s.fd, "loop"), 0);
    look(u);
    assert_in_range(usage_disk(u), 0, MEGA / 4);
    assert_int_equal(usage_files(u), 2);
}

static void depth_hides_nothing(void **state)
{
    (void)state;
    enum { LEVELS = 5000 };
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    scoped(usage_freep) struct usage *u = watch(&s);
    int at = fcntl(s.fd, F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < LEVELS; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(at);
        at = next;
    }
    look(u);
    uint64_t directories = usage_disk(u);
    fill(at, "at the bottom", 4);
    (void)close(at);
    look(u);
    assert_in_range(usage_disk(u) - directories, 4 * MEGA, 4 * MEGA + MEGA / 4);
    assert_int_equal(usage_files(u), LEVELS + 1);
}

/* Slices of any size give the same, and a slice is never longer than asked for. */
static void a_round_in_small_steps_is_the_round_in_large_ones(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(usage_freep) struct usage *u = watch(&s);
    for (char name[] = "a"; name[0] <= 'z'; name[0]++) {
        scratch_mkdir(&s, name);
        scoped(fd_closep) int dir = openat(s.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fill(dir, "one", 1);
    }
    look(u);
    uint64_t disk = usage_disk(u);
    assert_disk(u, 26);
    for (uint32_t slice = 1; slice < 60; slice += 7) {
        uint32_t steps = 1;
        while (!usage_step(u, slice))
            steps++;
        assert_int_equal(usage_disk(u), disk);
        assert_int_equal(usage_files(u), 52);
        assert_in_range(steps * slice, 52, 52 + 60 + slice);
    }
    assert_false(usage_step(u, 0));
}

static void more_is_seen_at_once_and_less_when_the_round_is_complete(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(usage_freep) struct usage *u = watch(&s);
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        fill(s.fd, name, 1);
    }
    assert_false(usage_step(u, 5));
    assert_in_range(usage_disk(u), 4 * MEGA, 6 * MEGA);
    while (!usage_step(u, 5)) {
    }
    assert_disk(u, 10);

    assert_int_equal(unlinkat(s.fd, "f0", 0), 0);
    assert_false(usage_step(u, 5));
    assert_disk(u, 10);
    while (!usage_step(u, 5)) {
    }
    assert_disk(u, 9);
}

/* Without root's rights a closed directory cannot be looked into: what was in it stays charged. */
static int hides_in_a_closed_directory(void)
{
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(usage_freep) struct usage *u = NULL;
    if (usage_new(s.fd, &u, &e))
        return 1;
    scratch_mkdir(&s, "dir");
    fill(s.fd, "dir/file", 3);
    look(u);
    if (usage_disk(u) < 3 * MEGA || fchmodat(s.fd, "dir", 0, 0))
        return 2;
    for (int i = 0; i < 3; i++) {
        look(u);
        if (usage_disk(u) < 3 * MEGA || usage_disk(u) > 4 * MEGA)
            return 3;
    }
    if (fchmodat(s.fd, "dir", 0700, 0) || unlinkat(s.fd, "dir/file", 0))
        return 4;
    look(u);
    return usage_disk(u) < MEGA ? 0 : 5;
}

static void what_a_closed_directory_hides_stays_charged(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(hides_in_a_closed_directory));
}

static void a_descriptor_that_is_no_directory_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct usage *u = NULL;
    scoped(fd_closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(usage_new(fd, &u, &e), -1);
    assert_int_equal(usage_new(-1, &u, &e), -1);
    assert_null(u);
    usage_free(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_grew_counts),
        cmocka_unit_test(what_shrank_is_zero_growth),
        cmocka_unit_test(the_total_tells_what_was_deleted_and_written_again),
        cmocka_unit_test(a_round_that_was_begun_anew_sees_what_came_meanwhile),
        cmocka_unit_test(blocks_count_and_not_sizes),
        cmocka_unit_test(hard_links_count_once),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(depth_hides_nothing),
        cmocka_unit_test(a_round_in_small_steps_is_the_round_in_large_ones),
        cmocka_unit_test(more_is_seen_at_once_and_less_when_the_round_is_complete),
        cmocka_unit_test(what_a_closed_directory_hides_stays_charged),
        cmocka_unit_test(a_descriptor_that_is_no_directory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
