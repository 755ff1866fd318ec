/* Names of files as clients give them. */
#include "openai/names.h"

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

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_name_stays_as_it_is),
        cmocka_unit_test(directories_are_left_out),
        cmocka_unit_test(what_forms_escape_is_unescaped),
        cmocka_unit_test(nothing_is_left_is_a_name_too),
        cmocka_unit_test(what_is_no_text_becomes_some),
        cmocka_unit_test(a_long_name_keeps_its_ending),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
