#include "meaning/normal.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/expect.h"
#include "base/scope.h"
#include "meaning/meaning.h"

#define B NORMAL_BLANK

static void check(const char *text, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(NORMAL_LEN_MAX);
    OK(normal_text(str_of(text), &out, e));
    assert_string_equal(out.bytes ? out.bytes : "", expected);
}

static void white_space_of_any_kind_is_one_blank_in_front_of_a_word(void **state)
{
    (void)state;
    check("one two", B "one" B "two");
    check("  one \t\r\n\n two\u00a0three\u2003four  ", B "one" B "two" B "three" B "four");
    check("one", B "one");
}

static void compatible_characters_become_ordinary_ones(void **state)
{
    (void)state;
    check("ﬁve ｆｕｌｌ ½ ①", B "five" B "full" B "1\u2044"
                                "2" B "1");
    check("e\u0301", B "\u00e9");
    check("Case Stays", B "Case" B "Stays");
}

static void what_nobody_sees_goes(void **state)
{
    (void)state;
    check("in\u00advisible \u200bword\ufeff", B "invisible" B "word");
    check("\u200f \x01 a\x02"
          "b",
          B "ab");
}

static void what_is_shouted_is_read_quietly(void **state)
{
    (void)state;
    check("MEASUREMENT OF LIQUIDS", B "measurement" B "of" B "liquids");
    check("\u00c4RGER IM B\u00dcRO 2", B "\u00e4rger" B "im" B "b\u00fcro" B "2");
    check("NASA", B "NASA");
    check("NASA and HTTP", B "NASA" B "and" B "HTTP");
    check("1 2", B "1" B "2");
}

static void nothing_stays_nothing(void **state)
{
    (void)state;
    check("", "");
    check(" \n\t ", "");
    check("\u200b\u00ad", "");
}

static void what_is_not_utf8_counts_as_a_replacement(void **state)
{
    (void)state;
    check("a\xff"
          "b",
          B "a\ufffd"
            "b");
}

static void the_longest_text_fits_and_what_follows_is_not_read(void **state)
{
    (void)state;
    /* U+FDFA becomes eighteen characters; nothing grows more. */
    scoped(freep) char *text = malloc(MEANING_TEXT_MAX + 4);
    scoped(buf_done) struct buf out = BUF_INIT(NORMAL_LEN_MAX), again = BUF_INIT(NORMAL_LEN_MAX);
    assert_non_null(text);
    for (size_t i = 0; i < MEANING_TEXT_MAX + 4; i++)
        text[i] = "\xef\xb7\xba"[i % 3];
    OK(normal_text((struct str){text, MEANING_TEXT_MAX / 3 * 3}, &out, e));
    OK(normal_text((struct str){text, MEANING_TEXT_MAX + 2}, &again, e));
    assert_true(out.len > 5 * MEANING_TEXT_MAX);
    assert_int_equal(out.len, again.len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_of_any_kind_is_one_blank_in_front_of_a_word),
        cmocka_unit_test(compatible_characters_become_ordinary_ones),
        cmocka_unit_test(what_nobody_sees_goes),
        cmocka_unit_test(what_is_shouted_is_read_quietly),
        cmocka_unit_test(nothing_stays_nothing),
        cmocka_unit_test(what_is_not_utf8_counts_as_a_replacement),
        cmocka_unit_test(the_longest_text_fits_and_what_follows_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
