#include "session/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

static void add(struct names *n, const char *name)
{
    struct err e = {0};
    assert_int_equal(names_add(n, name, strlen(name), &e), 0);
}

static void names_are_kept_in_order(void **state)
{
    (void)state;
    scoped(names_done) struct names n = {0};
    scoped(buf_done) struct buf text = BUF_INIT(100);
    add(&n, "a");
    add(&n, "b");
    names_text(&n, 100, &text);
    assert_string_equal(text.bytes, "a, b");
}

static void a_nul_becomes_visible_and_a_long_name_is_cut(void **state)
{
    (void)state;
    scoped(names_done) struct names n = {0};
    struct err e = {0};
    char big[NAMES_LEN_MAX + 10];
    memset(big, 'x', sizeof big);
    assert_int_equal(names_add(&n, "a\0b", 3, &e), 0);
    assert_int_equal(names_add(&n, big, sizeof big, &e), 0);
    assert_string_equal(n.list[0], "a?b");
    assert_int_equal(strlen(n.list[1]), NAMES_LEN_MAX);
}

static void more_than_the_limit_are_counted(void **state)
{
    (void)state;
    scoped(names_done) struct names n = {0}, other = {0};
    struct err e = {0};
    for (int i = 0; i < NAMES_MAX; i++)
        add(&n, "x");
    assert_int_equal(n.more, 0);
    add(&n, "y");
    assert_int_equal(n.count, NAMES_MAX);
    assert_int_equal(n.more, 1);
    add(&other, "z");
    assert_int_equal(names_append(&n, &other, &e), 0);
    assert_int_equal(n.more, 2);
    assert_int_equal(other.count, 0);
}

static void appending_moves_them(void **state)
{
    (void)state;
    scoped(names_done) struct names a = {0}, b = {0}, none = {0};
    struct err e = {0};
    add(&a, "1");
    add(&b, "2");
    assert_int_equal(names_append(&a, &b, &e), 0);
    assert_int_equal(names_append(&a, &none, &e), 0);
    assert_int_equal(a.count, 2);
    assert_string_equal(a.list[1], "2");
    assert_int_equal(b.count, 0);
}

static void a_text_that_is_too_short_says_how_many_are_missing(void **state)
{
    (void)state;
    scoped(names_done) struct names n = {0};
    scoped(buf_done) struct buf text = BUF_INIT(200);
    for (int i = 0; i < 30; i++)
        add(&n, "variable");
    names_text(&n, 100, &text);
    assert_int_equal(text.failed, 0);
    assert_true(text.len <= 100);
    assert_string_equal(text.bytes, "variable, variable, variable and 27 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_kept_in_order),
        cmocka_unit_test(a_nul_becomes_visible_and_a_long_name_is_cut),
        cmocka_unit_test(more_than_the_limit_are_counted),
        cmocka_unit_test(appending_moves_them),
        cmocka_unit_test(a_text_that_is_too_short_says_how_many_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
