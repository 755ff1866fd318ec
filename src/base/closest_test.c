#include "base/closest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_closest_name_is_at_most_two_mistakes_away(void **state)
{
    (void)state;
    static const char *const names[] = {"run", "doctor", "version"};
    assert_string_equal(closest_name("rum", names, 3), "run");
    assert_string_equal(closest_name("docktor", names, 3), "doctor");
    assert_string_equal(closest_name("verion", names, 3), "version");
    assert_null(closest_name("verxxxn", names, 3));
    assert_null(closest_name("xyz", names, 3)); /* three letters, all wrong */
    assert_null(closest_name("", names, 3));
}

static void very_long_words_are_like_none(void **state)
{
    (void)state;
    const char *names[] = {"abcdefghijklmnopqrstuvwxy"};
    assert_null(closest_name("abcdefghijklmnopqrstuvwxy", names, 1));
    names[0] = "abcdefghijklmnopqrstuvwx";
    assert_non_null(closest_name("abcdefghijklmnopqrstuvwx", names, 1));
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(the_closest_name_is_at_most_two_mistakes_away),
        cmocka_unit_test(very_long_words_are_like_none),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
