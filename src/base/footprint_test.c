/* What footprint.h promises. */
#include "base/footprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

static uint64_t measure(struct footprint *f, const struct scratch *s, const char *path)
{
    uint64_t bytes = 0;
    struct err e = {0};
    scoped(fd_closep) int fd = openat(s->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (footprint_add(f, fd, &bytes, &e))
        fail_msg("%s", e.text);
    return bytes;
}

static uint64_t blocks_of(const struct scratch *s, const char *path)
{
    struct stat st;
    assert_int_equal(fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return (uint64_t)st.st_blocks * 512;
}

static void write_much(const struct scratch *s, const char *path, size_t len)
{
    scoped(freep) char *text = malloc(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    scratch_write(s, path, text);
}

static void everything_in_a_tree_counts(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(footprint_done) struct footprint f = {0};
    scratch_mkdir(&s, "tree");
    scratch_mkdir(&s, "tree/deep");
    write_much(&s, "tree/a", 100000);
    write_much(&s, "tree/deep/b", 50000);
    assert_int_equal(measure(&f, &s, "tree"), blocks_of(&s, "tree") + blocks_of(&s, "tree/deep") +
                                                  blocks_of(&s, "tree/a") +
                                                  blocks_of(&s, "tree/deep/b"));
}

static void what_has_no_blocks_takes_none(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(footprint_done) struct footprint f = {0};
    scratch_mkdir(&s, "tree");
    scratch_write(&s, "tree/sparse", "");
    scoped(fd_closep) int fd = openat(s.fd, "tree/sparse", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 1 << 30), 0);
    assert_true(measure(&f, &s, "tree") < 1 << 20);
}

static void a_file_with_two_names_counts_once_where_it_came_first(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(footprint_done) struct footprint f = {0};
    char name[64];
    scratch_mkdir(&s, "first");
    scratch_mkdir(&s, "second");
    for (int i = 0; i < 3000; i++) { /* the table grows meanwhile */
        (void)snprintf(name, sizeof name, "first/%d", i);
        scratch_write(&s, name, "x");
        char link[64];
        (void)snprintf(link, sizeof link, "second/%d", i);
        assert_int_equal(linkat(s.fd, name, s.fd, link, 0), 0);
    }
    assert_true(measure(&f, &s, "first") >= 3000 * blocks_of(&s, "first/1"));
    assert_int_equal(measure(&f, &s, "second"), blocks_of(&s, "second"));
}

static void it_gives_up_when_told_to(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    const atomic_bool stops = true;
    scoped(footprint_done) struct footprint f = {.stops = &stops};
    uint64_t bytes = 7;
    struct err e = {0};
    scratch_write(&s, "a", "x");
    assert_int_equal(footprint_add(&f, s.fd, &bytes, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_int_equal(bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_in_a_tree_counts),
        cmocka_unit_test(what_has_no_blocks_takes_none),
        cmocka_unit_test(a_file_with_two_names_counts_once_where_it_came_first),
        cmocka_unit_test(it_gives_up_when_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
