#include "cli/fileref.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static void what_people_write_becomes_a_path(void **state)
{
    static const struct {
        const char *word, *path;
        bool is_dir;
    } cases[] = {
        {"a.csv", "a.csv", false},
        {"/mnt/data/plots/a.png", "plots/a.png", false},
        {"./plots//a.png", "plots/a.png", false},
        {"/plots/", "plots", true},
        {"/mnt/database", "mnt/database", false},
        {"a/./b", "a/b", false},
        {"", "", true},
        {"/", "", true},
        {".", "", true},
        {"/mnt/data", "", true},
        {"..a/b..", "..a/b..", false},
        {"\xe6\x97\xa5 x", "\xe6\x97\xa5 x", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[FILEREF_SIZE];
        bool is_dir;
        struct err e = {0};
        assert_int_equal(fileref_clean(cases[i].word, path, &is_dir, &e), 0);
        assert_string_equal(path, cases[i].path);
        assert_int_equal(is_dir, cases[i].is_dir);
    }
}

static void what_leads_out_or_does_not_fit_is_refused(void **state)
{
    static const char *const words[] = {"..", "../a", "a/../b", "a/..", "a\nb", "\x1b[2J"};
    char path[FILEREF_SIZE], longest[FILEREF_SIZE + 1];
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct err e = {0};
        assert_int_equal(fileref_clean(words[i], path, NULL, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
    struct err e = {0};
    memset(longest, 'x', FILEREF_SIZE);
    longest[FILEREF_SIZE - 1] = '\0';
    assert_int_equal(fileref_clean(longest, path, NULL, &e), 0);
    longest[FILEREF_SIZE - 1] = 'x';
    longest[FILEREF_SIZE] = '\0';
    assert_int_equal(fileref_clean(longest, path, NULL, &e), -1);
}

static void a_pattern_has_fixed_directories(void **state)
{
    (void)state;
    assert_true(fileref_is_pattern("a/*.csv"));
    assert_true(fileref_is_pattern("a?"));
    assert_true(fileref_is_pattern("[ab]"));
    assert_false(fileref_is_pattern("a/b.csv"));
    assert_int_equal(fileref_fixed_len("data/2*/x.csv"), 5);
    assert_int_equal(fileref_fixed_len("a/b/c?"), 4);
    assert_int_equal(fileref_fixed_len("*.csv"), 0);
    assert_int_equal(fileref_fixed_len("a/b.csv"), 2);
    assert_int_equal(fileref_fixed_len(""), 0);
}

static void a_name_of_a_server_stays_where_it_is_put(void **state)
{
    static const char *const good[] = {"a", "a/b", "..a", "a..", ".hidden", "a b", "\xc3\xa9"};
    static const char *const bad[] = {"",   "/a",     "a/",  "a//b", ".",
                                      "..", "a/../b", "./a", "a/.",  "a\nb"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(fileref_is_local(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(fileref_is_local(bad[i]));
}

static void hidden_is_every_path_with_a_dot_in_front(void **state)
{
    (void)state;
    assert_true(fileref_is_hidden(".git/hooks/x"));
    assert_true(fileref_is_hidden("a/.b/c"));
    assert_false(fileref_is_hidden("a.b/c"));
}

static void addresses_are_encoded_component_by_component(void **state)
{
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    (void)state;
    fileref_url("a b", "x/\xc3\xa9?#%/y", "stat=true", &out);
    assert_string_equal(out.bytes, "/api/v1/workspaces/a%20b/files/x/%C3%A9%3F%23%25/y?stat=true");
    buf_done(&out);
    workspace_url("default", "move", &out);
    assert_string_equal(out.bytes, "/api/v1/workspaces/default/move");
    buf_done(&out);
    workspace_url("../x", NULL, &out);
    assert_string_equal(out.bytes, "/api/v1/workspaces/..%2Fx");
}

static void joining_is_bounded(void **state)
{
    char path[FILEREF_SIZE], half[600];
    struct err e = {0};
    (void)state;
    assert_int_equal(fileref_join("", "b", path, &e), 0);
    assert_string_equal(path, "b");
    assert_int_equal(fileref_join("a", "b/c", path, &e), 0);
    assert_string_equal(path, "a/b/c");
    assert_int_equal(fileref_join("a", "", path, &e), 0);
    assert_string_equal(path, "a");
    memset(half, 'x', sizeof half);
    half[sizeof half - 1] = '\0';
    assert_int_equal(fileref_join(half, half, path, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_people_write_becomes_a_path),
        cmocka_unit_test(what_leads_out_or_does_not_fit_is_refused),
        cmocka_unit_test(a_pattern_has_fixed_directories),
        cmocka_unit_test(a_name_of_a_server_stays_where_it_is_put),
        cmocka_unit_test(hidden_is_every_path_with_a_dot_in_front),
        cmocka_unit_test(addresses_are_encoded_component_by_component),
        cmocka_unit_test(joining_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
