#include "session/ignore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool fits(const char *pattern, const char *name)
{
    const char *const patterns[] = {"never", pattern};
    const struct ignore_rules rules = {.patterns = patterns, .count = 2};
    return ignore_fits(&rules, name);
}

static void stars_and_question_marks_stand_for_others(void **state)
{
    (void)state;
    static const char *const fitting[][2] = {
        {"*", ""},          {"*", "a"},        {"a", "a"},           {"?", "a"},
        {"*.pyc", "a.pyc"}, {"*.pyc", ".pyc"}, {"a*b*c", "aXbYbZc"}, {"a**b", "ab"},
        {"*a*", "bab"},     {"[a]", "[a]"},    {"\\*", "\\x"},
    };
    static const char *const others[][2] = {
        {"", "a"},    {"a", ""},          {"a", "ab"},          {"?", ""},
        {"?", "ab"},  {"?*.pyc", ".pyc"}, {"*.pyc", "a.pyc.x"}, {"a*b*c", "acb"},
        {"[a]", "a"}, {"A", "a"},
    };
    for (size_t i = 0; i < sizeof fitting / sizeof *fitting; i++)
        if (!fits(fitting[i][0], fitting[i][1]))
            fail_msg("%s does not fit %s", fitting[i][0], fitting[i][1]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (fits(others[i][0], others[i][1]))
            fail_msg("%s fits %s", others[i][0], others[i][1]);
}

static void any_name_of_a_path_counts(void **state)
{
    (void)state;
    assert_true(ignore_fits_path(&ignore_defaults, "a/__pycache__/b"));
    assert_true(ignore_fits_path(&ignore_defaults, "a/b.pyc"));
    assert_true(ignore_fits_path(&ignore_defaults, ".cache"));
    assert_true(ignore_fits_path(&ignore_defaults, "d/.cicada-0123456789"));
    assert_false(ignore_fits_path(&ignore_defaults, "a/pycache/b"));
    assert_false(ignore_fits_path(&ignore_defaults, ".pyc"));
    assert_false(ignore_fits_path(&ignore_defaults, "cache/a"));
    const struct ignore_rules none = {0};
    assert_false(ignore_fits_path(&none, "__pycache__/b"));
}

/* Every star could take back what it gave: that must not multiply. */
static void many_stars_take_no_time(void **state)
{
    (void)state;
    assert_false(
        fits("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stars_and_question_marks_stand_for_others),
        cmocka_unit_test(any_name_of_a_path_counts),
        cmocka_unit_test(many_stars_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
