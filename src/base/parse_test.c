#include "base/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static const char *const not_numbers[] = {"",   " ",    "x",   "-1",  "+1",  " 1", "1 ",
                                          "1x", "0x10", "1e3", "\n1", "1\n", "１", "1,000"};

static void a_number_is_the_whole_text_or_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof not_numbers / sizeof *not_numbers; i++) {
        uint64_t v = 42;
        struct err e = {0};
        assert_int_equal(parse_u64(not_numbers[i], 0, UINT64_MAX, &v, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
        assert_int_equal(v, 42);
    }
}

static void the_ends_of_the_range_are_in_it(void **state)
{
    (void)state;
    uint64_t v = 0;
    struct err e = {0};
    assert_int_equal(parse_u64("5", 5, 9, &v, &e), 0);
    assert_int_equal(parse_u64("9", 5, 9, &v, &e), 0);
    assert_int_equal(v, 9);
    assert_int_equal(parse_u64("4", 5, 9, &v, &e), -1);
    assert_int_equal(parse_u64("10", 5, 9, &v, &e), -1);
    assert_string_equal(e.text, "10 is not between 5 and 9");
    assert_int_equal(v, 9);
}

static void the_largest_number_fits_and_one_more_does_not(void **state)
{
    (void)state;
    uint64_t v = 0;
    struct err e = {0};
    assert_int_equal(parse_u64("18446744073709551615", 0, UINT64_MAX, &v, &e), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(parse_u64("18446744073709551616", 0, UINT64_MAX, &v, &e), -1);
    assert_int_equal(parse_u64("99999999999999999999999999", 0, UINT64_MAX, &v, &e), -1);
    assert_int_equal(parse_u64("0000000000000000000000000001", 0, UINT64_MAX, &v, &e), 0);
    assert_int_equal(v, 1);
}

static void the_message_quotes_what_was_there_but_not_all_of_it(void **state)
{
    (void)state;
    uint64_t v;
    struct err e = {0};
    parse_u64("twelve", 0, 1, &v, &e);
    assert_string_equal(e.text, "'twelve' is not a whole number");

    char longer[1000];
    memset(longer, 'y', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    parse_u64(longer, 0, 1, &v, &e);
    assert_in_range(strlen(e.text), 40, 80);
}

static void suffixes_are_powers_of_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"1k", 1024},         {"1K", 1024},           {"3KB", 3072},
        {"3kib", 3072},       {"512M", 512ULL << 20}, {"2g", 2ULL << 30},
        {"2GiB", 2ULL << 30}, {"1T", 1ULL << 40},     {"0k", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bytes = 1;
        struct err e = {0};
        assert_int_equal(parse_size(rows[i].text, 1, &bytes, &e), 0);
        assert_true(bytes == rows[i].bytes);
    }
}

static void without_a_suffix_the_callers_unit_counts(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    struct err e = {0};
    assert_int_equal(parse_size("512", 1 << 20, &bytes, &e), 0);
    assert_true(bytes == 512ULL << 20);
    assert_int_equal(parse_size("512", 1, &bytes, &e), 0);
    assert_int_equal(bytes, 512);
}

static void a_size_with_another_ending_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",   "k",    "1q",  "1 k",  "1kk", "1kbb", "1ki",
                                        "1b", "1.5g", "-1k", "1kB ", "1p",  "1mbit"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t bytes = 42;
        struct err e = {0};
        assert_int_equal(parse_size(wrong[i], 1, &bytes, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
        assert_int_equal(bytes, 42);
    }
}

static void a_size_that_overflows_is_refused(void **state)
{
    (void)state;
    uint64_t bytes;
    struct err e = {0};
    assert_int_equal(parse_size("16777215T", 1, &bytes, &e), 0);
    bytes = 42;
    assert_int_equal(parse_size("16777216T", 1, &bytes, &e), -1);
    assert_int_equal(bytes, 42);
    assert_string_equal(e.text, "16777216T is too large");
}

static void a_fraction_is_counted_in_thousandths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t milli;
    } rows[] = {
        {"0", 0},
        {"1", 1000},
        {"1.5", 1500},
        {"0.5", 500},
        {"0.05", 50},
        {"0.001", 1},
        {"0.0019", 1},
        {"2.000", 2000},
        {"007", 7000},
        {"60.25", 60250},
        {"4294967295", 4294967295000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t milli = 42;
        struct err e = {0};
        assert_int_equal(parse_milli(rows[i].text, &milli, &e), 0);
        assert_true(milli == rows[i].milli);
    }
}

static void a_fraction_needs_digits_on_both_sides(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",   ".",   "1.",   ".5",  "1..5", "1.5.",
                                        "-1", "1,5", "1.5s", "1. ", "x",    "4294967296"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t milli = 42;
        struct err e = {0};
        assert_int_equal(parse_milli(wrong[i], &milli, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
        assert_int_equal(milli, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_the_whole_text_or_nothing),
        cmocka_unit_test(the_ends_of_the_range_are_in_it),
        cmocka_unit_test(the_largest_number_fits_and_one_more_does_not),
        cmocka_unit_test(the_message_quotes_what_was_there_but_not_all_of_it),
        cmocka_unit_test(suffixes_are_powers_of_1024),
        cmocka_unit_test(without_a_suffix_the_callers_unit_counts),
        cmocka_unit_test(a_size_with_another_ending_is_refused),
        cmocka_unit_test(a_size_that_overflows_is_refused),
        cmocka_unit_test(a_fraction_is_counted_in_thousandths),
        cmocka_unit_test(a_fraction_needs_digits_on_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
