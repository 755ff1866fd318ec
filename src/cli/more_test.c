#include "cli/more.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool needs(const char *text)
{
    return more_is_needed(text, strlen(text));
}

static void a_simple_line_is_complete(void **state)
{
    (void)state;
    assert_false(needs(""));
    assert_false(needs("x = 1"));
    assert_false(needs("print('a:')"));
    assert_false(needs("x[1:]"));
    assert_false(needs("# only a comment:"));
    assert_false(needs("d = {'a': 1}"));
}

static void open_brackets_go_on_until_they_are_closed(void **state)
{
    (void)state;
    assert_true(needs("f("));
    assert_true(needs("x = [1,\n  2,"));
    assert_true(needs("x = [1,\n\n"));
    assert_false(needs("x = [1,\n  2]"));
    assert_false(needs("f(')')"));
    assert_true(needs("f(')'"));
    assert_true(needs("f(  # )"));
    assert_false(needs("f)"));
}

static void open_triple_quotes_go_on(void **state)
{
    (void)state;
    assert_true(needs("s = '''one"));
    assert_true(needs("s = \"\"\"one\n\n"));
    assert_false(needs("s = '''one\ntwo'''"));
    assert_true(needs("s = '''it''"));
    assert_true(needs("s = '''a\\'''"));
    assert_false(needs("s = ''"));
    assert_false(needs("s = 'it\\'s'"));
}

static void a_string_that_is_not_closed_is_an_error_and_not_more(void **state)
{
    (void)state;
    assert_false(needs("s = 'one"));
}

static void a_backslash_at_the_end_goes_on(void **state)
{
    (void)state;
    assert_true(needs("x = 1 + \\"));
    assert_true(needs("x = 1 + \\\n"));
    assert_false(needs("x = 1 + \\\n2"));
    assert_false(needs("# \\"));
}

static void a_block_goes_on_until_an_empty_line(void **state)
{
    (void)state;
    assert_true(needs("if x:"));
    assert_true(needs("if x:  # why"));
    assert_true(needs("if x:\n    y()"));
    assert_false(needs("if x:\n    y()\n"));
    assert_false(needs("if x:\n    y()\n    "));
    assert_true(needs("def f():\n    x = [\n\n"));
    assert_true(needs("for i in (1,\n2):\n  i"));
}

static void a_decorator_goes_on(void **state)
{
    (void)state;
    assert_true(needs("@cache"));
    assert_true(needs("@cache\ndef f():\n    pass"));
    assert_false(needs("@cache\ndef f():\n    pass\n"));
    assert_false(needs("a @ b"));
}

static void one_line_compound_statements_are_complete(void **state)
{
    (void)state;
    assert_false(needs("for i in range(3): print(i)"));
    assert_false(needs("f = lambda: 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simple_line_is_complete),
        cmocka_unit_test(open_brackets_go_on_until_they_are_closed),
        cmocka_unit_test(open_triple_quotes_go_on),
        cmocka_unit_test(a_string_that_is_not_closed_is_an_error_and_not_more),
        cmocka_unit_test(a_backslash_at_the_end_goes_on),
        cmocka_unit_test(a_block_goes_on_until_an_empty_line),
        cmocka_unit_test(a_decorator_goes_on),
        cmocka_unit_test(one_line_compound_statements_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
