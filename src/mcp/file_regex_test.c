/* What file_regex.h promises; what patterns mean is PCRE2's business. */
#include "mcp/file_regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"

static int fits(const char *pattern, const char *text, struct err *e)
{
    scoped(regex_freep) struct regex *r = NULL;
    if (regex_new(pattern, &r, e))
        fail_msg("%s: %s", pattern, e->text);
    return regex_fits(r, text, strlen(text), e);
}

static void a_line_fits_or_not(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        int fits;
    } cases[] = {
        {"abc", "xabcx", 1},
        {"^ab$", "xab", 0},
        {"^def load_\\w+\\(", "def load_sales(path):", 1},
        {"(?i)hello", "HeLLo", 1},
        {"hello", "HeLLo", 0},
        {"(\\w)\\1", "aa", 1},
        {"foo(?!bar)", "foobar", 0},
        {"^.$", "\xc3\xbc", 1},
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         "die gr\xc3\xb6\xc3\x9f"
         "e",
         1},
        {"end$", "\xff\xfe the end", 1},
        {"", "", 1},
        {"a", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        if (fits(cases[i].pattern, cases[i].text, &e) != cases[i].fits)
            fail_msg("%s and '%s': %s", cases[i].pattern, cases[i].text, e.text);
    }
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const char *const wrong[] = {"(",     ")",      "[a",  "*a",   "\\",
                                        "[b-a]", "a{5,2}", "\\C", "\xff", "(((a|b){60}){60}){60}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct regex *r = NULL;
        struct err e = {0};
        if (regex_new(wrong[i], &r, &e) == 0)
            fail_msg("%s was taken", wrong[i]);
        assert_int_equal(e.code, ERR_INVALID);
        assert_null(r);
    }
}

static void deep_parentheses_are_refused(void **state)
{
    (void)state;
    scoped(buf_done) struct buf deep = BUF_INIT(4096);
    struct regex *r = NULL;
    struct err e = {0};
    for (int i = 0; i < 300; i++)
        buf_str(&deep, "(");
    for (int i = 0; i < 300; i++)
        buf_str(&deep, ")");
    assert_int_equal(regex_new(deep.bytes, &r, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
}

static void no_pattern_takes_forever(void **state)
{
    (void)state;
    static const char *const patterns[] = {"^(a+)+$b", "(a|aa)+c", "(.*)(.*)(.*)(.*)[^a]",
                                           "(((a*)*)*)*b"};
    static char text[20000];
    memset(text, 'a', sizeof text - 1);
    int64_t begun_us = clock_us();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct err e = {0};
        int got = fits(patterns[i], text, &e);
        assert_true(got == 0 || (got == -1 && e.code == ERR_LIMIT));
    }
    assert_true(clock_us() - begun_us < 20 * 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_fits_or_not),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(deep_parentheses_are_refused),
        cmocka_unit_test(no_pattern_takes_forever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
