/* What same.h promises. */
#include "ask/same.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool same(const char *a, const char *b)
{
    struct difference d;
    return texts_are_same(str_of(a), str_of(b), &d);
}

static void the_same_words_are_the_same(void **state)
{
    (void)state;
    assert_true(same("", ""));
    assert_true(same("a b\nc 1\n", "a b\nc 1"));
    assert_true(same("a  \nb", "a\nb\n\n"));
    assert_false(same("a", "b"));
    assert_false(same("a", "a b"));
    assert_false(same("a\nb", "a"));
}

static void numbers_may_differ_in_their_last_digits(void **state)
{
    (void)state;
    assert_true(same("mean 0.30000000000000004", "mean 0.3"));
    assert_true(same("[1.0000001, -2]", "[1.0, -2.0]"));
    assert_false(same("mean 0.31", "mean 0.3"));
    assert_false(same("12", "13"));
    assert_false(same("12%", "12"));
    assert_false(same("x1", "x2"));
    assert_false(same("5", "-5"));
}

static void addresses_in_memory_do_not_count(void **state)
{
    (void)state;
    assert_true(same("<object at 0x7f0011223344>", "<object at 0x7fa0bbccddee>"));
    assert_false(same("0x1f", "0x2f"));
}

static void the_first_line_that_differs_is_told(void **state)
{
    struct difference d;
    (void)state;
    assert_false(texts_are_same(str_of("a\nb 1\nc"), str_of("a\nb 2\nd"), &d));
    assert_int_equal(d.line, 2);
    assert_true(str_is(d.was, "b 1"));
    assert_true(str_is(d.is, "b 2"));
}

static void a_long_line_takes_no_long_time(void **state)
{
    static const char *const pieces[] = {"-", "1", " ", "\xe2\x88\x92", "-1 ", "0x"};
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG + 16);
    struct difference d;
    (void)state;
    assert_non_null(text);
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
        size_t len = strlen(pieces[k]), at = 0;
        for (; at < LONG; at += len)
            memcpy(text + at, pieces[k], len);
        assert_true(texts_are_same((struct str){text, at}, (struct str){text, at}, &d));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_words_are_the_same),
        cmocka_unit_test(numbers_may_differ_in_their_last_digits),
        cmocka_unit_test(addresses_in_memory_do_not_count),
        cmocka_unit_test(a_long_line_takes_no_long_time),
        cmocka_unit_test(the_first_line_that_differs_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
