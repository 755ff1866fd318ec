#include "cli/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static const struct column columns[] = {
    {"NAME", false, true}, {"SIZE", true, false}, {"CODE", false, true}};

static void add(struct table *t, const char *name, const char *size, const char *shown,
                const char *code)
{
    table_add(t, name, NULL);
    table_add(t, size, shown);
    table_add(t, code, NULL);
}

static const char *print(const struct table *t, size_t width, struct buf *out)
{
    struct err e = {0};
    assert_int_equal(table_print(t, width, out, &e), 0);
    return out->len ? out->bytes : "";
}

static void for_programs_values_are_separated_by_tabs_and_have_no_titles(void **state)
{
    scoped(table_done) struct table t = TABLE(columns, 3);
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    (void)state;
    add(&t, "work", "1536", "1.5 KiB", "x = 1");
    add(&t, "", "0", "0 B", "");
    assert_string_equal(print(&t, 0, &out), "work\t1536\tx = 1\n\t0\t\n");
}

static void on_a_terminal_columns_are_aligned_and_values_rounded(void **state)
{
    scoped(table_done) struct table t = TABLE(columns, 3);
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    (void)state;
    add(&t, "work", "1536", "1.5 KiB", "x = 1");
    add(&t, "longer", "0", "0 B", "y");
    assert_string_equal(print(&t, 80, &out), "NAME       SIZE  CODE\n"
                                             "work    1.5 KiB  x = 1\n"
                                             "longer      0 B  y\n");
}

static void what_does_not_fit_is_cut_in_the_widest_column_that_may_be(void **state)
{
    scoped(table_done) struct table t = TABLE(columns, 3);
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    (void)state;
    add(&t, "work", "1", NULL, "a line of code that is long");
    assert_string_equal(print(&t, 26, &out), "NAME  SIZE  CODE\n"
                                             "work     1  a line of cod\xe2\x80\xa6\n");
}

static void a_terminal_too_narrow_for_anything_still_gets_a_few_letters(void **state)
{
    scoped(table_done) struct table t = TABLE(columns, 3);
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    (void)state;
    add(&t, "a-very-long-name", "1", NULL, "a line of code");
    assert_string_equal(print(&t, 1, &out), "NAME      SIZE  CODE\n"
                                            "a-very-\xe2\x80\xa6     1  a line \xe2\x80\xa6\n");
}

static void wide_characters_count_as_two_columns(void **state)
{
    scoped(table_done) struct table t = TABLE(columns, 3);
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    (void)state;
    assert_int_equal(text_width("\xe6\x97\xa5\xe6\x9c\xac"), 4); /* two ideographs */
    assert_int_equal(text_width("e\xcc\x81"), 1);                /* e and a combining accent */
    add(&t, "\xe6\x97\xa5\xe6\x9c\xac", "1", NULL, "x");
    add(&t, "plain", "1", NULL, "x");
    assert_string_equal(print(&t, 80, &out), "NAME   SIZE  CODE\n"
                                             "\xe6\x97\xa5\xe6\x9c\xac      1  x\n"
                                             "plain     1  x\n");
}

static void a_cut_never_tears_a_character(void **state)
{
    (void)state;
    for (size_t width = 1; width < 8; width++) {
        scoped(buf_done) struct buf out = BUF_INIT(100);
        text_cut("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5", width, &out);
        assert_true(text_width(out.bytes) <= width);
        assert_memory_equal(out.bytes + out.len - 3, "\xe2\x80\xa6", 3);
    }
}

static void what_steers_a_terminal_is_replaced(void **state)
{
    scoped(table_done) struct table t = TABLE(columns, 3);
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    (void)state;
    add(&t, "a\033[31m\tb\nc", "1", NULL, "\xff");
    assert_string_equal(print(&t, 0, &out), "a?[31m?b?c\t1\t\xef\xbf\xbd\n");
}

static void a_table_without_rows_has_titles_only_on_a_terminal(void **state)
{
    scoped(table_done) struct table t = TABLE(columns, 3);
    scoped(buf_done) struct buf out = BUF_INIT(1000), none = BUF_INIT(1000);
    (void)state;
    assert_string_equal(print(&t, 80, &out), "NAME  SIZE  CODE\n");
    assert_string_equal(print(&t, 0, &none), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(for_programs_values_are_separated_by_tabs_and_have_no_titles),
        cmocka_unit_test(on_a_terminal_columns_are_aligned_and_values_rounded),
        cmocka_unit_test(what_does_not_fit_is_cut_in_the_widest_column_that_may_be),
        cmocka_unit_test(a_terminal_too_narrow_for_anything_still_gets_a_few_letters),
        cmocka_unit_test(wide_characters_count_as_two_columns),
        cmocka_unit_test(a_cut_never_tears_a_character),
        cmocka_unit_test(what_steers_a_terminal_is_replaced),
        cmocka_unit_test(a_table_without_rows_has_titles_only_on_a_terminal),
    };
    text_locale();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
