#include "mcp/file_edits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static struct edit edit(const char *old_text, const char *new_text)
{
    return (struct edit){.old_text = str_of(old_text), .new_text = str_of(new_text)};
}

static void assert_edited(const char *text, const struct edit *edits, size_t count,
                          const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 16);
    struct edit_fault fault = {0};
    struct err e = {0};
    uint64_t replaced = 0;
    if (edits_apply(edits, count, str_of(text), &out, &replaced, &fault, &e))
        fail_msg("%s", e.text);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
}

static struct edit_fault fault_of(const char *text, const struct edit *edits, size_t count)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 16);
    struct edit_fault fault = {0};
    struct err e = {0};
    uint64_t replaced = 0;
    assert_int_equal(edits_apply(edits, count, str_of(text), &out, &replaced, &fault, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(out.len, 0);
    return fault;
}

static void a_piece_is_replaced_and_each_edit_sees_what_those_before_have_made(void **state)
{
    (void)state;
    const struct edit one[] = {edit("b", "B")}, two[] = {edit("a", "bb"), edit("bbc", "x")};
    assert_edited("abc", one, 1, "aBc");
    assert_edited("ac", two, 2, "x");
    const struct edit gone[] = {edit("abc", "")};
    assert_edited("abc", gone, 1, "");
}

static void replace_all_means_all(void **state)
{
    (void)state;
    struct edit all = edit("aa", "b");
    all.replace_all = true;
    assert_edited("aaaaa", &all, 1, "bba");
}

static void what_is_there_twice_or_not_at_all_is_a_fault(void **state)
{
    (void)state;
    const struct edit twice[] = {edit("x", "y")};
    struct edit_fault fault = fault_of("x\nb\nx\nx", twice, 1);
    assert_int_equal(fault.kind, EDIT_SEVERAL);
    assert_int_equal(fault.count, 3);
    assert_int_equal(fault.lines[0], 1);
    assert_int_equal(fault.lines[1], 3);
    assert_int_equal(fault.lines[2], 4);
    const struct edit second[] = {edit("b", "c"), edit("b", "d")};
    fault = fault_of("b", second, 2);
    assert_int_equal(fault.kind, EDIT_MISSING);
    assert_int_equal(fault.index, 1);
    const struct edit same[] = {edit("b", "b")};
    assert_int_equal(fault_of("b", same, 1).kind, EDIT_SAME);
}

static void line_ends_are_taken_for_those_of_the_file(void **state)
{
    (void)state;
    const struct edit lf[] = {edit("a\nb", "1\n2\n3")};
    assert_edited("a\r\nb\r\n", lf, 1, "1\r\n2\r\n3\r\n");
    const struct edit exact[] = {edit("a\r\n", "x\n")};
    assert_edited("a\r\nb\r\n", exact, 1, "x\nb\r\n");
}

static void assert_explained(const char *text, const char *old_text, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 16);
    edits_explain(str_of(text), str_of(old_text), &out);
    assert_string_equal(out.bytes, expected);
}

static void the_closest_line_is_told_so_that_it_can_be_mended(void **state)
{
    (void)state;
    assert_explained("one\n\tprint(\xe2\x80\x9chi\xe2\x80\x9d)\nthree\n", "    print(\"hi\")",
                     "Line 2 differs only in blanks, tabs, line ends, quotes or dashes:\n"
                     "  file:     \"\\tprint(\xe2\x80\x9chi\xe2\x80\x9d)\"\n"
                     "  old_text: \"    print(\\\"hi\\\")\"\n");
    assert_explained("def f():\n    x = 1\n    return x\n", "def f():\n    x = 1\n    return y\n",
                     "2 lines of it are there, up to line 3, which is another:\n"
                     "  file:     \"    return x\"\n  old_text: \"    return y\"\n");
    assert_explained("alpha = 10\nbeta = 20\n", "beta = 30",
                     "Closest is line 2:\n  file:     \"beta = 20\"\n  old_text: \"beta = 30\"\n");
    assert_explained("a\n  b\nc\n", "\na\n b\nc", /* its blank line at the front says nothing */
                     "Line 2 differs only in blanks, tabs, line ends, quotes or dashes:\n"
                     "  file:     \"  b\"\n  old_text: \" b\"\n");
    assert_explained(
        "completely different\n", "nothing like it!",
        "Nothing in the file is like it. Read the file again: it may have changed, or it is "
        "another file.\n");
    assert_explained("", "x",
                     "Nothing in the file is like it. Read the file again: it may have changed, or "
                     "it is another file.\n");
}

static void many_lines_that_are_alike_do_not_take_forever(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(4 << 20), old_text = BUF_INIT(4 << 20),
                                out = BUF_INIT(4096);
    for (int i = 0; i < 200000; i++) {
        buf_str(&text, "a\n");
        buf_str(&old_text, i == 150000 ? "b\n" : "a\n");
    }
    edits_explain((struct str){text.bytes, text.len}, (struct str){old_text.bytes, old_text.len},
                  &out);
    assert_true(out.len > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_is_replaced_and_each_edit_sees_what_those_before_have_made),
        cmocka_unit_test(replace_all_means_all),
        cmocka_unit_test(what_is_there_twice_or_not_at_all_is_a_fault),
        cmocka_unit_test(line_ends_are_taken_for_those_of_the_file),
        cmocka_unit_test(the_closest_line_is_told_so_that_it_can_be_mended),
        cmocka_unit_test(many_lines_that_are_alike_do_not_take_forever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
