#include "http/cookie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_cookie(const char *header, const char *expected)
{
    struct str got = cookie_get(str_of(header), "pass");
    if (!expected) {
        assert_null(got.ptr);
        return;
    }
    assert_non_null(got.ptr);
    assert_true(str_is(got, expected));
}

static void the_first_of_the_name_is_found_among_others(void **state)
{
    (void)state;
    assert_cookie("pass=1.ab", "1.ab");
    assert_cookie("a=b; pass=1.ab; c=d", "1.ab");
    assert_cookie("a=b;pass=1;pass=2", "1");
    assert_cookie("pass=\"1.ab\"", "1.ab");
    assert_cookie("  pass = x ;", "x");
    assert_cookie("pass=a=b", "a=b");
    assert_cookie("pass=", "");
}

static void what_is_malformed_is_passed_over(void **state)
{
    (void)state;
    assert_cookie("", NULL);
    assert_cookie("pass", NULL);
    assert_cookie("Pass=1; xpass=2; passx=3; =pass", NULL);
    assert_cookie(";;;=;pass;pass=1", "1");
    assert_cookie("a=\"; pass=1\"", "1\""); /* quotes hold nothing together in a cookie */
    assert_null(cookie_get(STR_NONE, "pass").ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_the_name_is_found_among_others),
        cmocka_unit_test(what_is_malformed_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
