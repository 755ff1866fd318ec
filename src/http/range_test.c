/* What range.h promises. */
#include "http/range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void one_range_is_understood(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint64_t size;
        enum http_ranged how;
        uint64_t first, len;
    } cases[] = {
        {"bytes=0-0", 10, HTTP_RANGE_ONE, 0, 1},
        {"bytes=0-9", 10, HTTP_RANGE_ONE, 0, 10},
        {"bytes=0-10", 10, HTTP_RANGE_ONE, 0, 10},
        {"Bytes=9-9", 10, HTTP_RANGE_ONE, 9, 1},
        {"bytes=5-", 10, HTTP_RANGE_ONE, 5, 5},
        {"bytes=-3", 10, HTTP_RANGE_ONE, 7, 3},
        {"bytes=-30", 10, HTTP_RANGE_ONE, 0, 10},
        {"bytes= 1-2 ", 10, HTTP_RANGE_ONE, 1, 2},
        {"bytes=1-99999999999999999999999", 10, HTTP_RANGE_ONE, 1, 9},
        {"bytes=10-", 10, HTTP_RANGE_BAD, 0, 0},
        {"bytes=99999999999999999999999-", 10, HTTP_RANGE_BAD, 0, 0},
        {"bytes=0-", 0, HTTP_RANGE_BAD, 0, 0},
        {"bytes=-0", 10, HTTP_RANGE_BAD, 0, 0},
        {"bytes=-5", 0, HTTP_RANGE_WHOLE, 0, 0},
        {"bytes=5-4", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"bytes=0-1,3-4", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"bytes=", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"bytes=-", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"bytes=a-b", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"bytes=1", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"bytes=1-2x", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"bytes=+1-2", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"lines=0-1", 10, HTTP_RANGE_WHOLE, 0, 10},
        {"", 10, HTTP_RANGE_WHOLE, 0, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_range r = {0};
        assert_int_equal(http_range_parse(str_of(cases[i].value), cases[i].size, &r), cases[i].how);
        if (cases[i].how == HTTP_RANGE_BAD)
            continue;
        assert_int_equal(r.first, cases[i].first);
        assert_int_equal(r.len, cases[i].len);
    }
}

static void no_header_means_everything(void **state)
{
    (void)state;
    struct http_range r = {0};
    assert_int_equal(http_range_parse(STR_NONE, 7, &r), HTTP_RANGE_WHOLE);
    assert_int_equal(r.len, 7);
}

static void etags_are_found_in_lists(void **state)
{
    (void)state;
    static const struct {
        const char *list, *etag;
        bool weak, strong;
    } cases[] = {
        {"\"a\"", "\"a\"", true, true},
        {"\"b\", \"a\"", "\"a\"", true, true},
        {"\"b\",\"a\"", "\"a\"", true, true},
        {"W/\"a\"", "\"a\"", true, false},
        {"\"a\"", "W/\"a\"", true, false},
        {"\"b,c\", \"a\"", "\"b,c\"", true, true},
        {"\"b,\\\"a\\\"\"", "\"a\"", false, false},
        {"*", "\"a\"", true, true},
        {"\"A\"", "\"a\"", false, false},
        {"a", "\"a\"", false, false},
        {"\"a", "\"a\"", false, false},
        {"W/", "\"a\"", false, false},
        {", ,", "\"a\"", false, false},
        {"", "\"a\"", false, false},
        {"\"\"", "\"\"", true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(http_etag_in(str_of(cases[i].list), cases[i].etag, /* is_strong= */ false),
                         cases[i].weak);
        assert_int_equal(http_etag_in(str_of(cases[i].list), cases[i].etag, /* is_strong= */ true),
                         cases[i].strong);
    }
    assert_false(http_etag_in(STR_NONE, "\"a\"", /* is_strong= */ false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_range_is_understood),
        cmocka_unit_test(no_header_means_everything),
        cmocka_unit_test(etags_are_found_in_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
