#include "base/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_path_fits_or_does_not(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool fits;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"a.csv", "a.csv", true},
        {"a.csv", "A.csv", false},
        {"*.csv", "a.csv", true},
        {"*.csv", ".csv", true},
        {"*.csv", "d/a.csv", false},
        {"*", "a/b", false},
        {"*/*", "a/b", true},
        {"*/b", "a/c", false},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false},
        {"?", "a", true},
        {"?", "\xc3\xa4", true},
        {"?", "/", false},
        {"??", "\xc3\xa4", false},
        {"a?b", "a/b", false},
        {"**", "", true},
        {"**", "a/b/c", true},
        {"**/x", "x", true},
        {"**/x", "a/x", true},
        {"**/x", "a/b/x", true},
        {"**/x", "a/bx", false},
        {"**/*.py", "a.py", true},
        {"**/*.py", "a/b/c.py", true},
        {"**/*.py", "a/b/c.pyc", false},
        {"a/**", "a/b", true},
        {"a/**", "a/b/c", true},
        {"a/**", "a", false},
        {"a/**", "ab/c", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/x/yb", false},
        {"a**b", "a/x/b", true},
        {"**/a*/**/b*.c", "x/y/aa/z/b1.c", true},
        {"**/a*/**/b*.c", "x/y/aa/z/c1.c", false},
        {"***", "a/b", true},
        {"[abc].txt", "b.txt", true},
        {"[abc].txt", "d.txt", false},
        {"[a-c]", "b", true},
        {"[!a-c]", "b", false},
        {"[!a-c]", "d", true},
        {"[!a]", "/", false},
        {"x[!a]y", "x/y", false},
        {"[]]", "]", true},
        {"[a-]", "-", true},
        {"[*]", "*", true},
        {"[*]", "a", false},
        {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa4", true},
        {"[a-z]", "\xc3\xa4", false},
        {"[ab", "[ab", true},
        {"a\\*", "a\\b", true},
        {"\xff*", "\xff", true},
        {"?", "\xc3", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (glob_fits(cases[i].pattern, cases[i].path) != cases[i].fits)
            fail_msg("%s and %s", cases[i].pattern, cases[i].path);
}

static void many_stars_are_no_trouble(void **state)
{
    (void)state;
    char path[1025], pattern[1025];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    for (size_t i = 0; i + 2 < sizeof pattern; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[1022] = 'b';
    pattern[1023] = '\0';
    assert_false(glob_fits(pattern, path));
    for (size_t i = 0; i < 1020; i += 4)
        memcpy(pattern + i, "**/a", 4);
    for (size_t i = 1; i < sizeof path - 1; i += 2)
        path[i] = '/';
    assert_false(glob_fits(pattern, path));
}

static void what_is_literal_comes_first(void **state)
{
    (void)state;
    assert_int_equal(glob_literal_len("a/b*"), 3);
    assert_int_equal(glob_literal_len("**"), 0);
    assert_int_equal(glob_literal_len("a[b]"), 1);
    assert_int_equal(glob_literal_len("abc"), 3);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_path_fits_or_does_not),
        cmocka_unit_test(many_stars_are_no_trouble),
        cmocka_unit_test(what_is_literal_comes_first),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
