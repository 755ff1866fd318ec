/* Names of files as clients give them. */
#include "openai/names.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/expect.h"
#include "base/utf8.h"

static void is_plainly(const char *raw, const char *want)
{
    char got[NAME_SIZE];
    name_plain(raw, got);
    assert_string_equal(got, want);
}

static void a_name_stays_as_it_is(void **state)
{
    (void)state;
    is_plainly("a.csv", "a.csv");
    is_plainly("Ünï – 数据 😀.csv", "Ünï – 数据 😀.csv");
    is_plainly("100%25.csv", "100%25.csv");
    is_plainly("50% of it.csv", "50% of it.csv");
    is_plainly(".hidden", ".hidden");
    is_plainly("...", "...");
}

static void directories_are_left_out(void **state)
{
    (void)state;
    is_plainly("/mnt/data/a.csv", "a.csv");
    is_plainly("../../etc/passwd", "passwd");
    is_plainly("C:\\Users\\x\\b.txt", "b.txt");
    is_plainly("a/b\\c", "c");
}

static void what_forms_escape_is_unescaped(void **state)
{
    (void)state;
    is_plainly("say %22hi%22.txt", "say \"hi\".txt");
    is_plainly("a%0D%0ab", "a  b");
    is_plainly("%2", "%2");
    is_plainly("%", "%");
    is_plainly("%2e%2e", "%2e%2e");
}

static void nothing_is_left_is_a_name_too(void **state)
{
    (void)state;
    is_plainly("", "unknown_file");
    is_plainly("dir/", "unknown_file");
    is_plainly(".", "unknown_file");
    is_plainly("x/..", "unknown_file");
}

static void what_is_no_text_becomes_some(void **state)
{
    (void)state;
    is_plainly("a\xc2\x80\xc2\x9f.csv", "a__.csv");
    is_plainly("\xc2\xa0.csv", "\xc2\xa0.csv");
    is_plainly("a\tb\x7f", "a_b_");
    is_plainly("a\xff.csv", "a\xef\xbf\xbd.csv");
}

static void a_long_name_keeps_its_ending(void **state)
{
    (void)state;
    char raw[4096], got[NAME_SIZE];
    memset(raw, 'x', sizeof raw);
    memcpy(raw + 1000, ".csv", 5);
    name_plain(raw, got);
    assert_int_equal(strlen(got), 255);
    assert_string_equal(got + 251, ".csv");
    for (size_t i = 0; i + 4 < 1200; i += 4) /* characters of four bytes, cut between them */
        memcpy(raw + i, "😀", 5);
    name_plain(raw, got);
    assert_true(utf8_is_valid(got, strlen(got)));
    assert_int_equal(strlen(got), 252);
    memset(raw, 'y', 300);
    raw[0] = '.';
    raw[300] = '\0';
    name_plain(raw, got);
    assert_int_equal(strlen(got), 255);
}

static void check_given(json_t *given, const char *source, const char *wish, const char *wanted)
{
    char name[NAME_SIZE];
    struct err e = {0};
    (void)snprintf(name, sizeof name, "%s", wish);
    assert_int_equal(name_give(given, source, name, &e), 0);
    assert_string_equal(name, wanted);
}

static void a_name_that_is_taken_gets_a_number(void **state)
{
    (void)state;
    json_t *given = json_object();
    char longest[NAME_SIZE], numbered[NAME_SIZE];
    check_given(given, "one", "a.csv", "a.csv");
    check_given(given, "two", "a.csv", "a-2.csv");
    check_given(given, "three", "a.csv", "a-3.csv");
    check_given(given, "one", "a.csv", "a.csv");
    check_given(given, "two", "a.csv", "a-2.csv");
    check_given(given, "four", "a-2.csv", "a-2-2.csv");
    check_given(given, "one", ".profile", ".profile");
    check_given(given, "two", ".profile", ".profile-2");
    memset(longest, 'x', sizeof longest);
    memcpy(longest + NAME_SIZE - 5, ".csv", 5);
    memcpy(numbered, longest, sizeof numbered);
    memcpy(numbered + NAME_SIZE - 7, "-2", 2);
    check_given(given, "one", longest, longest);
    check_given(given, "two", longest, numbered);
    json_decref(given);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_name_stays_as_it_is),
        cmocka_unit_test(directories_are_left_out),
        cmocka_unit_test(what_forms_escape_is_unescaped),
        cmocka_unit_test(nothing_is_left_is_a_name_too),
        cmocka_unit_test(what_is_no_text_becomes_some),
        cmocka_unit_test(a_long_name_keeps_its_ending),
        cmocka_unit_test(a_name_that_is_taken_gets_a_number),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
