#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

#define FFFD "\xEF\xBF\xBD"

/* Bytes, and what utf8_clean makes of them; the same means well-formed. The bad ones are from the
 * Unicode standard, section 3.9, and the result is that of Python's bytes.decode("replace"). */
/* clang-format off */
static const struct {
    const char *name, *bytes, *clean;
} cases[] = {
    {"nothing",                 "",                         ""},
    {"ASCII",                   "plain\n\t\x7F",            "plain\n\t\x7F"},
    {"the last of two bytes",   "\xC2\x80\xDF\xBF",         "\xC2\x80\xDF\xBF"},
    {"the edges of three",      "\xE0\xA0\x80\xEF\xBF\xBF", "\xE0\xA0\x80\xEF\xBF\xBF"},
    {"around the surrogates",   "\xED\x9F\xBF\xEE\x80\x80", "\xED\x9F\xBF\xEE\x80\x80"},
    {"the edges of four",       "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF",
                                "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
    {"a lone continuation",     "a\x80z",                   "a" FFFD "z"},
    {"overlong two",            "\xC0\xAF",                 FFFD FFFD},
    {"overlong two, the other", "\xC1\xBF",                 FFFD FFFD},
    {"overlong three",          "\xE0\x80\xBF",             FFFD FFFD FFFD},
    {"overlong four",           "\xF0\x8F\xBF\xBF",         FFFD FFFD FFFD FFFD},
    {"a high surrogate",        "\xED\xA0\x80",             FFFD FFFD FFFD},
    {"a low surrogate",         "\xED\xBF\xBF",             FFFD FFFD FFFD},
    {"above U+10FFFF",          "\xF4\x90\x80\x80",         FFFD FFFD FFFD FFFD},
    {"five bytes",              "\xF8\x88\x80\x80\x80",     FFFD FFFD FFFD FFFD FFFD},
    {"never a byte",            "\xFE\xFF",                 FFFD FFFD},
    {"two of three, then text", "\xE2\x82z",                FFFD "z"},
    {"three of four, at the end", "\xF0\x9F\x8E",           FFFD},
    {"one of two, at the end",  "ok\xC3",                   "ok" FFFD},
    {"maximal subparts",        "\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64",
                                "a" FFFD FFFD FFFD "b" FFFD "c" FFFD FFFD "d"},
};
/* clang-format on */

static void only_well_formed_bytes_are_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_same = strcmp(cases[i].bytes, cases[i].clean) == 0;
        if (utf8_is_valid(cases[i].bytes, strlen(cases[i].bytes)) != is_same)
            fail_msg("%s", cases[i].name);
    }
}

static void cleaning_replaces_each_broken_beginning_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(100);
        utf8_clean(cases[i].bytes, strlen(cases[i].bytes), &out);
        if (strcmp(out.bytes ? out.bytes : "", cases[i].clean) != 0)
            fail_msg("%s", cases[i].name);
    }
}

static void a_nul_is_a_character_like_any_other(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(100);
    assert_true(utf8_is_valid("a\0b", 3));
    utf8_clean("a\0\xFF", 3, &out);
    assert_int_equal(out.len, 5);
    assert_memory_equal(out.bytes, "a\0" FFFD, 6);
}

/* Every character there is: what a straightforward encoder writes is valid, surrogates are not. */
static void all_characters_are_valid_and_no_surrogate_is(void **state)
{
    (void)state;
    for (uint32_t c = 0x800; c <= 0x10FFFF; c++) {
        char b[4];
        size_t len = c < 0x10000 ? 3 : 4;
        for (size_t i = len - 1; i > 0; i--)
            b[i] = (char)(0x80 | (c >> (6 * (len - 1 - i)) & 0x3F));
        b[0] = (char)(len == 3 ? 0xE0 | c >> 12 : 0xF0 | c >> 18);
        assert_int_equal(utf8_is_valid(b, len), c < 0xD800 || c > 0xDFFF);
    }
}

static void a_cut_falls_before_the_character_it_would_tear(void **state)
{
    (void)state;
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8E\x89z"; /* a é € 🎉 z */
    static const size_t cuts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    for (size_t len = 0; len < sizeof text; len++)
        assert_int_equal(utf8_cut(text, len), cuts[len]);
}

static void bytes_that_are_no_text_are_cut_anywhere(void **state)
{
    (void)state;
    assert_int_equal(utf8_cut("\x80\x80\x80\x80", 4), 4);
    assert_int_equal(utf8_cut("ab\xFF", 3), 3);
    assert_int_equal(utf8_cut("ab\xED\xA0", 4), 4); /* no character begins like this */
}

static void a_tail_begins_after_the_character_that_was_torn(void **state)
{
    (void)state;
    static const char text[] = "\xF0\x9F\x8E\x89z";
    static const size_t skips[] = {0, 3, 2, 1, 0, 0};
    for (size_t at = 0; at < sizeof text; at++)
        assert_int_equal(utf8_skip(text + at, sizeof text - 1 - at), skips[at]);
    assert_int_equal(utf8_skip("\x80\x80\x80\x80", 4), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_well_formed_bytes_are_valid),
        cmocka_unit_test(cleaning_replaces_each_broken_beginning_once),
        cmocka_unit_test(a_nul_is_a_character_like_any_other),
        cmocka_unit_test(all_characters_are_valid_and_no_surrogate_is),
        cmocka_unit_test(a_cut_falls_before_the_character_it_would_tear),
        cmocka_unit_test(bytes_that_are_no_text_are_cut_anywhere),
        cmocka_unit_test(a_tail_begins_after_the_character_that_was_torn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
