#include "workspace/diff.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/expect.h"
#include "base/scope.h"
#include "workspace/diff_apply.h"
#include "workspace/diff_int.h"

static enum diff_outcome diff(struct str from, struct str to, struct buf *out)
{
    const struct diff_side a = {"x.txt", from}, b = {"y.txt", to};
    enum diff_outcome outcome = DIFF_BINARY;
    OK(diff_text(&a, &b, out, &outcome, e));
    return outcome;
}

static void becomes(const char *from, const char *to, const char *wanted)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
    assert_int_equal(diff(str_of(from), str_of(to), &out), DIFF_DIFFERENT);
    assert_string_equal(out.bytes, wanted);
}

static void a_change_is_shown_with_three_lines_around_it(void **state)
{
    (void)state;
    becomes("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            "--- a/x.txt\n+++ b/y.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

static void changes_near_each_other_are_one_hunk(void **state)
{
    (void)state;
    /* Six lines between: one hunk. Seven: two. */
    becomes("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
            "--- a/x.txt\n+++ b/y.txt\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
    becomes("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
            "--- a/x.txt\n+++ b/y.txt\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
            "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}

static void a_missing_newline_at_the_end_is_told(void **state)
{
    (void)state;
    becomes(
        "a\nb", "a\nb\n",
        "--- a/x.txt\n+++ b/y.txt\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
    becomes(
        "a\nb", "c\nb",
        "--- a/x.txt\n+++ b/y.txt\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n");
}

static void nothing_becomes_something_and_back(void **state)
{
    (void)state;
    becomes("", "a\n", "--- a/x.txt\n+++ b/y.txt\n@@ -0,0 +1 @@\n+a\n");
    becomes("a\n", "", "--- a/x.txt\n+++ b/y.txt\n@@ -1 +0,0 @@\n-a\n");
}

static void what_is_equal_has_no_diff(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(100);
    assert_int_equal(diff(str_of("a\n"), str_of("a\n"), &out), DIFF_SAME);
    assert_int_equal(diff(STR_NONE, str_of(""), &out), DIFF_SAME);
    assert_int_equal(diff((struct str){"\0", 1}, (struct str){"\0", 1}, &out), DIFF_SAME);
    assert_int_equal(out.len, 0);
}

static void what_is_no_text_is_binary(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(100);
    assert_int_equal(diff((struct str){"a\0b", 3}, str_of("a\n"), &out), DIFF_BINARY);
    assert_int_equal(diff(str_of("a\n"), str_of("\xff\xfe"), &out), DIFF_BINARY);
    assert_int_equal(out.len, 0);
}

static char *filled(size_t len, size_t line_len)
{
    char *text = malloc(len);
    assert_non_null(text);
    for (size_t i = 0; i < len; i++)
        text[i] = i % line_len == line_len - 1 ? '\n' : 'x';
    return text;
}

static void the_limits_hold_and_one_more_is_too_large(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(100 << 20);
    scoped(freep) char *big = filled(DIFF_BYTES_MAX + 1, 1000);
    assert_int_equal(diff((struct str){big, DIFF_BYTES_MAX}, str_of("a"), &out), DIFF_DIFFERENT);
    assert_int_equal(diff((struct str){big, DIFF_BYTES_MAX + 1}, str_of("a"), &out),
                     DIFF_TOO_LARGE);
    assert_int_equal(diff(str_of("a"), (struct str){big, DIFF_BYTES_MAX + 1}, &out),
                     DIFF_TOO_LARGE);
    scoped(freep) char *lines = filled(2 * (DIFF_LINES_MAX + 1), 2);
    assert_int_equal(diff((struct str){lines, 2 * DIFF_LINES_MAX}, str_of("a"), &out),
                     DIFF_DIFFERENT);
    assert_int_equal(diff((struct str){lines, 2 * DIFF_LINES_MAX + 2}, str_of("a"), &out),
                     DIFF_TOO_LARGE);
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(30);
    const struct diff_side a = {"x", str_of("a\n")}, b = {"x", str_of("b\nc\nd\ne\nf\ng\n")};
    enum diff_outcome outcome;
    FAILS(ERR_LIMIT, diff_text(&a, &b, &out, &outcome, e));
}

/* ---- against a slow one that is surely right ---- */

static uint32_t seed = 12345;

static uint32_t next(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

enum { SMALL = 24 };

static void make_text(char text[2 * SMALL + 1], uint32_t letters)
{
    uint32_t count = next(SMALL + 1);
    size_t len = 0;
    for (uint32_t i = 0; i < count; i++) {
        text[len++] = (char)('a' + next(letters));
        text[len++] = '\n';
    }
    if (len > 0 && next(4) == 0)
        len--;
    text[len] = '\0';
}

/* The length of the longest common subsequence of the lines. */
static uint32_t common(const struct diff_lines *a, const struct diff_lines *b)
{
    uint32_t best[SMALL + 1][SMALL + 1] = {0};
    for (uint32_t x = 1; x <= a->count; x++)
        for (uint32_t y = 1; y <= b->count; y++) {
            uint32_t left = best[x - 1][y], up = best[x][y - 1];
            best[x][y] = a->ids[x - 1] == b->ids[y - 1] ? best[x - 1][y - 1] + 1
                         : left > up                    ? left
                                                        : up;
        }
    return best[a->count][b->count];
}

static uint32_t changed(const struct diff_lines *l)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->count; i++)
        count += l->is_changed[i];
    return count;
}

static void the_shortest_way_is_found(struct str from, struct str to)
{
    scoped(diff_lines_done) struct diff_lines a = {0}, b = {0};
    struct err failure = {0};
    assert_int_equal(diff_lines_make(from, to, &a, &b, &failure), 1);
    OK(diff_mark(&a, &b, DIFF_WORK_MAX, e));
    assert_int_equal(changed(&a) + changed(&b), a.count + b.count - 2 * common(&a, &b));
}

static void it_leads_there(struct str from, struct str to)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 20), made = BUF_INIT(1 << 20);
    enum diff_outcome outcome = diff(from, to, &out);
    if (outcome == DIFF_SAME)
        return;
    assert_int_equal(outcome, DIFF_DIFFERENT);
    diff_apply(from, (struct str){out.bytes, out.len}, &made);
    assert_int_equal(made.len, to.len);
    assert_memory_equal(made.bytes ? made.bytes : "", to.ptr, to.len);
}

static void every_diff_is_shortest_and_leads_from_the_one_to_the_other(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char from[2 * SMALL + 1], to[2 * SMALL + 1];
        uint32_t letters = 2 + next(8);
        make_text(from, letters);
        make_text(to, letters);
        the_shortest_way_is_found(str_of(from), str_of(to));
        it_leads_there(str_of(from), str_of(to));
    }
}

static void when_the_work_is_used_up_the_result_is_longer_and_right(void **state)
{
    (void)state;
    for (uint64_t work = 0; work < 200; work++) {
        char from[2 * SMALL + 1], to[2 * SMALL + 1];
        make_text(from, 4);
        make_text(to, 4);
        scoped(diff_lines_done) struct diff_lines a = {0}, b = {0};
        struct err failure = {0};
        assert_int_equal(diff_lines_make(str_of(from), str_of(to), &a, &b, &failure), 1);
        OK(diff_mark(&a, &b, work, e));
        uint32_t x = 0, y = 0; /* what is unmarked is the same on both sides */
        for (;; x++, y++) {
            while (x < a.count && a.is_changed[x])
                x++;
            while (y < b.count && b.is_changed[y])
                y++;
            if (x == a.count || y == b.count)
                break;
            assert_int_equal(a.ids[x], b.ids[y]);
        }
        assert_true(x == a.count && y == b.count);
    }
}

/* Two hundred thousand lines without one in common, which is the worst there is. */
static void the_worst_case_ends_soon(void **state)
{
    (void)state;
    scoped(buf_done) struct buf from = BUF_INIT(8 << 20), to = BUF_INIT(8 << 20);
    scoped(buf_done) struct buf out = BUF_INIT(64 << 20);
    for (int i = 0; i < 200000; i++) {
        buf_fmt(&from, "old %d\n", i);
        buf_fmt(&to, "new %d\n", i);
    }
    int64_t began_us = clock_us();
    assert_int_equal(diff((struct str){from.bytes, from.len}, (struct str){to.bytes, to.len}, &out),
                     DIFF_DIFFERENT);
    assert_true(clock_us() - began_us < 30 * 1000000LL);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_change_is_shown_with_three_lines_around_it),
        cmocka_unit_test(changes_near_each_other_are_one_hunk),
        cmocka_unit_test(a_missing_newline_at_the_end_is_told),
        cmocka_unit_test(nothing_becomes_something_and_back),
        cmocka_unit_test(what_is_equal_has_no_diff),
        cmocka_unit_test(what_is_no_text_is_binary),
        cmocka_unit_test(the_limits_hold_and_one_more_is_too_large),
        cmocka_unit_test(a_full_buffer_is_an_error),
        cmocka_unit_test(every_diff_is_shortest_and_leads_from_the_one_to_the_other),
        cmocka_unit_test(when_the_work_is_used_up_the_result_is_longer_and_right),
        cmocka_unit_test(the_worst_case_ends_soon),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
