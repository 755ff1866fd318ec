#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

static void walk_freep(struct walk **wp)
{
    walk_free(*wp);
}

static struct walk *begin(const struct scratch *s)
{
    struct err e = {0};
    struct walk *w = NULL;
    if (walk_new(s->fd, &w, &e))
        fail_msg("%s", e.text);
    return w;
}

struct counts {
    size_t files, directories, links, denied;
    uint32_t deepest;
};

/* Goes everywhere to the end. */
static struct counts walk_all(struct walk *w)
{
    struct counts c = {0};
    struct walk_entry entry;
    while (walk_next(w, &entry)) {
        c.files += S_ISREG(entry.st.stx_mode);
        c.links += S_ISLNK(entry.st.stx_mode);
        c.denied += entry.error != 0;
        c.deepest = entry.depth > c.deepest ? entry.depth : c.deepest;
        if (S_ISDIR(entry.st.stx_mode)) {
            c.directories++;
            if (walk_enter(w))
                c.denied++;
        }
    }
    return c;
}

/* A chain of `levels` directories "d", each with `beside` files beside it. Some are made before the
 * directory and some after it, so that a walk has to go on reading after it came back. */
static void dig(const struct scratch *s, size_t levels, int beside)
{
    int at = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
    for (size_t i = 0; i < levels; i++) {
        for (int j = 0; j < beside; j++) {
            char name[32];
            snprintf(name, sizeof name, "file%d", j);
            int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
            assert_true(fd >= 0);
            (void)close(fd);
            if (j == beside / 2)
                assert_int_equal(mkdirat(at, "d", 0755), 0);
        }
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(at);
        at = next;
    }
    (void)close(at);
}

static void every_entry_comes_once_and_again_after_a_restart(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "a");
    scratch_mkdir(&s, "a/b");
    scratch_write(&s, "a/b/one", "x");
    scratch_write(&s, "two", "x");
    scoped(walk_freep) struct walk *w = begin(&s);
    for (int i = 0; i < 3; i++) {
        struct counts c = walk_all(w);
        assert_int_equal(c.files, 2);
        assert_int_equal(c.directories, 2);
        assert_int_equal(c.deepest, 3);
        walk_restart(w);
    }
}

static void a_directory_is_entered_only_when_told(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "a");
    scratch_write(&s, "a/one", "x");
    scoped(walk_freep) struct walk *w = begin(&s);
    struct walk_entry entry;
    assert_true(walk_next(w, &entry));
    assert_string_equal(entry.name, "a");
    assert_int_equal(entry.depth, 1);
    assert_false(walk_next(w, &entry));
}

/* Deeper than what is held open, with entries to go on with at every level. */
static void all_of_a_deep_tree_is_seen(void **state)
{
    (void)state;
    static const size_t levels[] = {WALK_HELD - 2, WALK_HELD - 1, WALK_HELD, WALK_HELD + 1, 300};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        scoped(scratch_done) struct scratch s = scratch_new();
        dig(&s, levels[i], 3);
        scoped(walk_freep) struct walk *w = begin(&s);
        struct counts c = walk_all(w);
        assert_int_equal(c.directories, levels[i]);
        assert_int_equal(c.files, 3 * levels[i]);
        assert_int_equal(walk_lost(w), 0);
        walk_restart(w);
        c = walk_all(w);
        assert_int_equal(c.files, 3 * levels[i]);
    }
}

static void links_are_seen_and_not_followed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    assert_int_equal(symlinkat("/", s.fd, "out"), 0);
    assert_int_equal(symlinkat(".", s.fd, "loop"), 0);
    scoped(walk_freep) struct walk *w = begin(&s);
    struct walk_entry entry;
    for (int i = 0; i < 2; i++) {
        assert_true(walk_next(w, &entry));
        assert_true(S_ISLNK(entry.st.stx_mode));
        assert_int_equal(walk_enter(w), -ENOTDIR);
    }
    assert_false(walk_next(w, &entry));
}

/* Between the look and the step into it, the directory becomes a link to somewhere else. */
static void a_directory_swapped_for_a_link_is_not_entered(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "d");
    scoped(walk_freep) struct walk *w = begin(&s);
    struct walk_entry entry;
    assert_true(walk_next(w, &entry));
    assert_true(S_ISDIR(entry.st.stx_mode));
    assert_int_equal(unlinkat(s.fd, "d", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("/usr", s.fd, "d"), 0);
    int entered = walk_enter(w);
    assert_true(entered == -ELOOP || entered == -ENOTDIR);
}

/* Somebody moves a directory that is below the held levels to another parent while the walk is in
 * it: ".." leads elsewhere, and the walk must neither go there nor end early. */
static void a_directory_moved_away_under_the_walk_is_noticed(void **state)
{
    (void)state;
    enum { LEVELS = WALK_HELD + 20, MOVED = WALK_HELD + 10 };
    scoped(scratch_done) struct scratch s = scratch_new();
    dig(&s, LEVELS, 1);
    scratch_mkdir(&s, "elsewhere");
    scratch_write(&s, "elsewhere/not below d", "x");
    scoped(walk_freep) struct walk *w = begin(&s);

    struct walk_entry entry;
    size_t files = 0;
    int moved = -1, depth = 0;
    while (walk_next(w, &entry)) {
        files += S_ISREG(entry.st.stx_mode);
        if (!S_ISDIR(entry.st.stx_mode) || strcmp(entry.name, "elsewhere") == 0)
            continue;
        assert_int_equal(walk_enter(w), 0);
        if (++depth == MOVED) {
            char path[2 * MOVED] = "d"; /* d/d/d..., MOVED names */
            for (size_t i = 1; i < 2 * MOVED - 1; i++)
                path[i] = i % 2 ? '/' : 'd';
            moved = renameat(s.fd, path, s.fd, "elsewhere/moved");
        }
    }
    assert_int_equal(moved, 0);
    assert_int_equal(walk_lost(w), 1);
    assert_true(files >= LEVELS - 15 && files <= LEVELS);
}

static void an_empty_directory_ends_at_once(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(walk_freep) struct walk *w = begin(&s);
    struct walk_entry entry;
    assert_false(walk_next(w, &entry));
    assert_false(walk_next(w, &entry));
}

static int walk_what_is_closed(void)
{
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "closed");
    scratch_write(&s, "closed/file", "x");
    scratch_mkdir(&s, "listed"); /* its names may be read, but nothing about them */
    scratch_write(&s, "listed/file", "x");
    if (fchmodat(s.fd, "closed", 0, 0) || fchmodat(s.fd, "listed", 0400, 0))
        return 1;
    struct err e = {0};
    scoped(walk_freep) struct walk *w = NULL;
    if (walk_new(s.fd, &w, &e))
        return 2;
    struct counts c = walk_all(w);
    return c.directories == 2 && c.files == 0 && c.denied == 2 ? 0 : 3;
}

static void what_cannot_be_looked_at_is_said(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(walk_what_is_closed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_comes_once_and_again_after_a_restart),
        cmocka_unit_test(a_directory_is_entered_only_when_told),
        cmocka_unit_test(all_of_a_deep_tree_is_seen),
        cmocka_unit_test(links_are_seen_and_not_followed),
        cmocka_unit_test(a_directory_swapped_for_a_link_is_not_entered),
        cmocka_unit_test(a_directory_moved_away_under_the_walk_is_noticed),
        cmocka_unit_test(an_empty_directory_ends_at_once),
        cmocka_unit_test(what_cannot_be_looked_at_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
