#include "json/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static void check_compact(const char *text, const char *expected)
{
    struct err e = {0};
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    assert_int_equal(json_compact(text, strlen(text), &b, &e), 0);
    assert_string_equal(b.bytes, expected);
}

static enum err_code refusal(const char *text, size_t len)
{
    struct err e = {0};
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    if (json_compact(text, len, &b, &e) == 0)
        return ERR_NONE;
    assert_int_equal(b.len, 0);
    return e.code;
}

static void blanks_between_tokens_go_and_blanks_in_strings_stay(void **state)
{
    (void)state;
    check_compact(" { \"a b\" :\t[ 1 ,\r\n 2 ] } \n", "{\"a b\":[1,2]}");
    check_compact("\"x \\\" y\\\\\"", "\"x \\\" y\\\\\"");
    check_compact("  7 ", "7");
    check_compact("null", "null");
}

static void numbers_keep_their_digits(void **state)
{
    (void)state;
    check_compact("[0.1, 1e5, -0, 9223372036854775807]", "[0.1,1e5,-0,9223372036854775807]");
}

static void line_separators_are_escaped(void **state)
{
    (void)state;
    check_compact("\"a\xe2\x80\xa8\xe2\x80\xa9z\"", "\"a\\u2028\\u2029z\"");
}

static void what_is_not_json_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "[1,]",
        "{\"a\":}",
        "'a'",
        "NaN",
        "1e999",
        "Infinity",
        "\"a\nb\"",
        "01",
        "1 2",
        "\"\\ud800\"",
        "\"\xff\"",
        "[1] x",
        "{\"a\":1,\"a\":2}",
        "18446744073709551616",
        "tru",
        "\"",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(refusal(bad[i], strlen(bad[i])), ERR_INVALID);
}

static void a_nul_byte_is_refused_wherever_it_stands(void **state)
{
    (void)state;
    assert_int_equal(refusal("1\0", 2), ERR_INVALID);
    assert_int_equal(refusal("[1\0]", 4), ERR_INVALID);
    assert_int_equal(refusal("\"a\0b\"", 5), ERR_INVALID);
    assert_int_equal(refusal("\"a\\u0000b\"", 10), ERR_NONE);
}

static void the_deepest_that_is_read_and_one_deeper(void **state)
{
    (void)state;
    char text[2 * JSON_READ_DEPTH_MAX + 2];
    memset(text, '[', JSON_READ_DEPTH_MAX + 1);
    memset(text + JSON_READ_DEPTH_MAX + 1, ']', JSON_READ_DEPTH_MAX + 1);
    assert_int_equal(refusal(text, sizeof text), ERR_LIMIT);
    assert_int_equal(refusal(text + 1, sizeof text - 2), ERR_NONE);
}

static void brackets_in_strings_are_not_depth(void **state)
{
    (void)state;
    char text[4 * JSON_READ_DEPTH_MAX];
    memset(text, '[', sizeof text);
    text[0] = text[sizeof text - 1] = '"';
    assert_int_equal(refusal(text, sizeof text), ERR_NONE);
}

static void the_largest_that_is_read_and_one_byte_more(void **state)
{
    (void)state;
    scoped(freep) char *text = malloc(JSON_READ_SIZE_MAX + 1);
    assert_non_null(text);
    memset(text, ' ', JSON_READ_SIZE_MAX + 1);
    text[0] = '1';
    assert_int_equal(refusal(text, JSON_READ_SIZE_MAX), ERR_NONE);
    assert_int_equal(refusal(text, JSON_READ_SIZE_MAX + 1), ERR_LIMIT);
}

static void a_value_can_be_looked_into(void **state)
{
    (void)state;
    struct err e = {0};
    json_t *value = NULL;
    assert_int_equal(json_read("{\"n\": 3}", 8, &value, &e), 0);
    assert_int_equal(json_integer_value(json_object_get(value, "n")), 3);
    json_decref(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_between_tokens_go_and_blanks_in_strings_stay),
        cmocka_unit_test(numbers_keep_their_digits),
        cmocka_unit_test(line_separators_are_escaped),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(a_nul_byte_is_refused_wherever_it_stands),
        cmocka_unit_test(the_deepest_that_is_read_and_one_deeper),
        cmocka_unit_test(brackets_in_strings_are_not_depth),
        cmocka_unit_test(the_largest_that_is_read_and_one_byte_more),
        cmocka_unit_test(a_value_can_be_looked_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
