#include "workspace/paths.h"

#include <string.h>

#include "base/expect.h"
#include "store/meta_files.h"

static void is_clean(const char *path, const char *wanted)
{
    char clean[PATH_BYTES_MAX + 1];
    OK(path_clean(path, clean, e));
    assert_string_equal(clean, wanted);
}

static void is_wrong(const char *path)
{
    char clean[PATH_BYTES_MAX + 1] = "untouched";
    FAILS(ERR_INVALID, path_clean(path, clean, e));
    assert_string_equal(clean, "untouched");
}

static void what_people_write_around_a_path_is_taken_away(void **state)
{
    (void)state;
    is_clean("a.csv", "a.csv");
    is_clean("/a.csv", "a.csv");
    is_clean("/mnt/data/plots/a.png", "plots/a.png");
    is_clean("plots/", "plots");
    is_clean("/mnt/data/plots/", "plots");
    is_clean("mnt/data/a", "mnt/data/a");
    is_clean("/mnt/database", "mnt/database");
}

static void names_are_kept_as_they_are(void **state)
{
    (void)state;
    is_clean("...", "...");
    is_clean(".hidden/..a", ".hidden/..a");
    is_clean("a b\\c*?[x]", "a b\\c*?[x]");
    is_clean("\xc3\xa9t\xc3\xa9/\xf0\x9f\x8c\xb1", "\xc3\xa9t\xc3\xa9/\xf0\x9f\x8c\xb1");
    is_clean("e\xcc\x81", "e\xcc\x81"); /* not normalised */
}

static void what_is_no_path_is_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "",       "/",      "//",         "//a",          "a//b",       "a//",
        ".",      "..",     "./a",        "a/.",          "a/./b",      "../a",
        "a/../b", "a/..",   "/..",        "/mnt/data/",   "a\nb",       "a\x01/",
        "\x7f",   "a\xffz", "\xc0\xafpw", "\xed\xa0\x80", "a\xc2\x85z", "/mnt/data/../a",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        is_wrong(wrong[i]);
}

static void exactly_the_limits_fit_and_one_more_does_not(void **state)
{
    (void)state;
    char path[PATH_BYTES_MAX + 8];
    memset(path, 'a', sizeof path);
    path[COMPONENT_BYTES_MAX] = '\0';
    is_clean(path, path);
    path[COMPONENT_BYTES_MAX] = 'a';
    path[COMPONENT_BYTES_MAX + 1] = '\0';
    is_wrong(path);

    memset(path, 'a', sizeof path);
    for (size_t i = 200; i < PATH_BYTES_MAX; i += 200)
        path[i] = '/';
    path[PATH_BYTES_MAX] = '\0';
    is_clean(path, path);
    path[PATH_BYTES_MAX] = 'a';
    path[PATH_BYTES_MAX + 1] = '\0';
    is_wrong(path);

    char deep[4 * PATH_DEPTH_MAX] = "";
    for (size_t i = 0; i < PATH_DEPTH_MAX; i++)
        memcpy(deep + 2 * i, "a/", 3);
    is_clean(deep, (deep[2 * PATH_DEPTH_MAX - 1] = '\0', deep));
    memcpy(deep + 2 * PATH_DEPTH_MAX - 1, "/a", 3);
    is_wrong(deep);
}

static void patterns_know_components(void **state)
{
    (void)state;
    assert_true(path_fits("*.csv", "a.csv"));
    assert_false(path_fits("*.csv", "d/a.csv"));
    assert_true(path_fits("**/*.csv", "d/e/a.csv"));
    assert_true(path_fits("[a-c]?", "bz"));
    assert_false(path_fits("A", "a"));
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(what_people_write_around_a_path_is_taken_away),
        cmocka_unit_test(names_are_kept_as_they_are),
        cmocka_unit_test(what_is_no_path_is_refused),
        cmocka_unit_test(exactly_the_limits_fit_and_one_more_does_not),
        cmocka_unit_test(patterns_know_components),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
