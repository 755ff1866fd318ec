#include "cli/baked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scratch.h"

/* Where images would be with these variables; "" for nowhere. */
static const char *place(const char *own, const char *cache, const char *home)
{
    static char path[PATH_MAX];
    struct err e = {0};
    (void)setenv("CICADA_IMAGE_DIR", own, 1);
    (void)setenv("XDG_CACHE_HOME", cache, 1);
    (void)setenv("HOME", home, 1);
    if (baked_dir(path, &e)) {
        assert_int_equal(e.code, ERR_NOT_FOUND);
        return "";
    }
    return path;
}

static void a_variable_decides_and_off_is_nowhere(void **state)
{
    (void)state;
    assert_string_equal(place("/srv/images", "/c", "/h"), "/srv/images");
    assert_string_equal(place("off", "/c", "/h"), "");
}

static int as_a_user(void)
{
    return strcmp(place("", "/c", "/h"), "/c/cicada/images") != 0 ||
           strcmp(place("", "", "/h"), "/h/.cache/cicada/images") != 0 ||
           strcmp(place("", "relative", "/h"), "/h/.cache/cicada/images") != 0 ||
           strcmp(place("", "", ""), "") != 0;
}

static void a_user_has_them_in_the_cache(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(as_a_user));
}

static void root_has_them_in_a_place_of_the_system(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_string_equal(place("", "/c", "/h"), "/var/cache/cicada/images");
}

static void a_path_too_long_is_refused(void **state)
{
    (void)state;
    char path[PATH_MAX], *big = malloc(PATH_MAX + 1);
    struct err e = {0};
    memset(big, 'x', PATH_MAX);
    big[PATH_MAX] = '\0';
    (void)setenv("CICADA_IMAGE_DIR", big, 1);
    assert_int_equal(baked_dir(path, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_decides_and_off_is_nowhere),
        cmocka_unit_test(a_user_has_them_in_the_cache),
        cmocka_unit_test(root_has_them_in_a_place_of_the_system),
        cmocka_unit_test(a_path_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
