/* What syntax.h and params.h promise. */
#include "http/syntax.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/params.h"

static void lists_are_walked_element_by_element(void **state)
{
    (void)state;
    struct str list = str_of(" a ,, b\t,c, "), one;
    assert_true(http_list_next(&list, &one) && str_is(one, "a"));
    assert_true(http_list_next(&list, &one) && str_is(one, "b"));
    assert_true(http_list_next(&list, &one) && str_is(one, "c"));
    assert_false(http_list_next(&list, &one));
    assert_false(http_list_next(&list, &one));
}

static void case_does_not_matter_and_length_does(void **state)
{
    (void)state;
    assert_true(http_same(str_of("Content-Length"), "cONTENT-lENGTH"));
    assert_false(http_same(str_of("Content"), "Content-Length"));
    assert_false(http_same(str_of("Content-Length"), "Content"));
    assert_true(http_same(STR_NONE, ""));
    assert_false(http_same(str_of("["), "{")); /* not letters, but 0x20 apart */
}

static void escapes_are_whole_and_never_a_nul(void **state)
{
    (void)state;
    assert_true(syntax_has_good_escapes(str_of("a%20b%fF")));
    assert_true(syntax_has_good_escapes(STR_NONE));
    static const char *const bad[] = {"%", "%4", "%4g", "a%00", "%20%", "%%20"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(syntax_has_good_escapes(str_of(bad[i])));
}

static void hosts_are_names_or_addresses_with_a_port_or_without(void **state)
{
    (void)state;
    static const char *const good[] = {
        "a",  "a.b-c_d~e", "127.0.0.1:80", "[::1]",           "[::1]:8700",
        "a:", "a:65535",   "%41.b",        "[::ffff:1.2.3.4]"};
    static const char *const bad[] = {
        "",      ":80", "a:65536", "a:+1", "a b",    "a/b", "a@b",   "a,b", "[::1", "[]",
        "[x]:1", "::1", "a%4",     "a%00", "[::1]x", "a:b", "a:1:2", "a?b", "a#b",  "\xc3\xa4"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(syntax_is_host(str_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(syntax_is_host(str_of(bad[i])));
}

static void parameters_come_one_after_the_other(void **state)
{
    (void)state;
    struct param p;
    struct str s = str_of("form-data; a=1 ;b=\"x; \\\"y\\\" \\z\";C=\"\";");
    assert_true(str_is(params_word(&s), "form-data"));
    assert_int_equal(params_next(&s, &p), 1);
    assert_true(str_is(p.name, "a"));
    assert_string_equal(p.value, "1");
    assert_int_equal(params_next(&s, &p), 1);
    assert_string_equal(p.value, "x; \"y\" \\z");
    assert_int_equal(params_next(&s, &p), 1);
    assert_true(str_is(p.name, "C"));
    assert_int_equal(p.len, 0);
    assert_int_equal(params_next(&s, &p), 0);
}

static void malformed_parameters_are_said(void **state)
{
    (void)state;
    static const char *const bad[] = {"a=1",          "; a",       "; =1",
                                      "; a=",         "; a=\"1",   "; a b=1",
                                      "; a=\"\x01\"", "; a=1 b=2", "; a=\"1\"x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct param p;
        struct str s = str_of(bad[i]);
        int more = params_next(&s, &p);
        assert_int_equal(more == 1 ? params_next(&s, &p) : more, -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_walked_element_by_element),
        cmocka_unit_test(case_does_not_matter_and_length_does),
        cmocka_unit_test(escapes_are_whole_and_never_a_nul),
        cmocka_unit_test(hosts_are_names_or_addresses_with_a_port_or_without),
        cmocka_unit_test(parameters_come_one_after_the_other),
        cmocka_unit_test(malformed_parameters_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
