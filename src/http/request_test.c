/* What exchange.h promises about headers, escapes and query parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"

/* 1: it is `expected`; 0: there is none; -1: it is malformed. */
static int query(const char *text, const char *name, const char *expected)
{
    struct err e = {0};
    scoped(buf_done) struct buf b = BUF_INIT(100);
    struct http_request r = {.query = str_of(text)};
    int found = http_query_get(&r, name, &b, &e);
    if (found < 0)
        assert_int_equal(e.code, ERR_INVALID);
    if (found == 1)
        assert_string_equal(b.bytes ? b.bytes : "", expected);
    return found;
}

static void a_parameter_is_decoded(void **state)
{
    (void)state;
    assert_int_equal(query("a=1&b=x%20y+z&c", "b", "x y z"), 1);
    assert_int_equal(query("a=1&b=2", "a", "1"), 1);
    assert_int_equal(query("a=1&a=2", "a", "1"), 1);
    assert_int_equal(query("a", "a", ""), 1);
    assert_int_equal(query("a=", "a", ""), 1);
    assert_int_equal(query("%61=1", "a", "1"), 1);
    assert_int_equal(query("a=b=c", "a", "b=c"), 1);
    assert_int_equal(query("a=%C3%a4", "a", "\xc3\xa4"), 1);
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(query("", "a", NULL), 0);
    assert_int_equal(query("ab=1&b=a", "a", NULL), 0);
    assert_int_equal(query("&&=1", "a", NULL), 0);
}

static void a_broken_value_is_invalid_and_others_do_not_matter(void **state)
{
    (void)state;
    assert_int_equal(query("a=%", "a", NULL), -1);
    assert_int_equal(query("a=%4", "a", NULL), -1);
    assert_int_equal(query("a=%zz", "a", NULL), -1);
    assert_int_equal(query("a=%00", "a", NULL), -1);
    assert_int_equal(query("b=%zz&%=&a=1", "a", "1"), 1);
}

static void a_plus_is_a_blank_only_in_forms(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(buf_done) struct buf b = BUF_INIT(100);
    assert_int_equal(http_decode(str_of("a+b%2B"), /* is_form= */ false, &b, &e), 0);
    assert_int_equal(http_decode(str_of("a+b%2b"), /* is_form= */ true, &b, &e), 0);
    assert_string_equal(b.bytes, "a+b+a b+");
}

static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(buf_done) struct buf b = BUF_INIT(2);
    assert_int_equal(http_decode(str_of("abc"), /* is_form= */ false, &b, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_is_decoded),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(a_broken_value_is_invalid_and_others_do_not_matter),
        cmocka_unit_test(a_plus_is_a_blank_only_in_forms),
        cmocka_unit_test(what_does_not_fit_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
