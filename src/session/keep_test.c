#include "session/keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"

static void add(struct keep *k, const char *text)
{
    struct err e = {0};
    assert_int_equal(keep_add(k, text, strlen(text), &e), 0);
}

static void assert_text(const struct keep *k, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(k->max + KEEP_NOTICE_MAX);
    struct err e = {0};
    keep_text(k, &out);
    assert_int_equal(buf_check(&out, &e), 0);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
}

static void what_fits_comes_out_as_it_went_in(void **state)
{
    (void)state;
    scoped(keep_done) struct keep k = KEEP_INIT(10);
    assert_text(&k, "");
    add(&k, "abc");
    add(&k, "");
    add(&k, "def");
    assert_text(&k, "abcdef");
    assert_int_equal(keep_dropped(&k), 0);
}

static void exactly_the_limit_fits_and_one_more_drops_one_from_the_middle(void **state)
{
    (void)state;
    for (size_t step = 1; step <= 10; step++) {
        scoped(keep_done) struct keep k = KEEP_INIT(10);
        struct err e = {0};
        for (size_t at = 0; at < 10; at += step) {
            size_t len = at + step > 10 ? 10 - at : step;
            assert_int_equal(keep_add(&k, &"0123456789"[at], len, &e), 0);
        }
        assert_text(&k, "0123456789");
        add(&k, "A");
        assert_int_equal(keep_dropped(&k), 1);
        assert_text(&k, "01234\n[... 1 bytes left out ...]\n6789A");
    }
}

static void an_odd_limit_gives_the_odd_byte_to_the_head(void **state)
{
    (void)state;
    scoped(keep_done) struct keep k = KEEP_INIT(5);
    add(&k, "abcdefgh");
    assert_text(&k, "abc\n[... 3 bytes left out ...]\ngh");
}

static void the_smallest_limits_hold(void **state)
{
    (void)state;
    scoped(keep_done) struct keep none = KEEP_INIT(0), one = KEEP_INIT(1), two = KEEP_INIT(2);
    add(&none, "abc");
    add(&one, "abc");
    add(&two, "abc");
    assert_text(&none, "\n[... 3 bytes left out ...]\n");
    assert_text(&one, "a\n[... 2 bytes left out ...]\n");
    assert_text(&two, "a\n[... 1 bytes left out ...]\nc");
}

/* Against a model: all bytes in one string, the head and tail cut out of it. */
static void any_mixture_of_sizes_keeps_the_first_and_the_last(void **state)
{
    (void)state;
    enum { MAX = 64, ALL = 1000 };
    char all[ALL + 1] = {0}, expected[MAX + 100];
    for (size_t i = 0; i < ALL; i++)
        all[i] = (char)('A' + i % 53);
    for (unsigned seed = 1; seed <= 200; seed++) {
        scoped(keep_done) struct keep k = KEEP_INIT(MAX);
        struct err e = {0};
        size_t at = 0;
        for (unsigned r = seed; at < ALL; r = r * 1103515245 + 12345) {
            size_t len = (r >> 16) % 90;
            len = len > ALL - at ? ALL - at : len;
            assert_int_equal(keep_add(&k, all + at, len, &e), 0);
            at += len;
        }
        snprintf(expected, sizeof expected, "%.32s\n[... %d bytes left out ...]\n%s", all,
                 ALL - MAX, all + ALL - MAX / 2);
        assert_text(&k, expected);
    }
}

static void no_character_is_torn_by_the_cuts(void **state)
{
    (void)state;
    static const char party[] = "\xF0\x9F\x8E\x89"; /* four bytes: U+1F389 */
    for (size_t max = 2; max < 40; max++) {
        scoped(keep_done) struct keep k = KEEP_INIT(max);
        for (int i = 0; i < 20; i++)
            add(&k, party);
        scoped(buf_done) struct buf out = BUF_INIT(max + KEEP_NOTICE_MAX);
        keep_text(&k, &out);
        assert_true(utf8_is_valid(out.bytes, out.len));
        char notice[64];
        size_t kept = ((max + 1) / 2 / 4 + max / 2 / 4) * 4;
        snprintf(notice, sizeof notice, "\n[... %zu bytes left out ...]\n", 80 - kept);
        assert_non_null(strstr(out.bytes, notice));
        assert_int_equal(out.len, kept + strlen(notice));
    }
}

static void a_character_across_head_and_tail_stays_whole_when_nothing_is_dropped(void **state)
{
    (void)state;
    scoped(keep_done) struct keep k = KEEP_INIT(8);
    add(&k, "abc\xE2\x82\xACz"); /* the head ends inside the euro sign */
    assert_text(&k, "abc\xE2\x82\xACz");
}

static void a_keep_is_usable_again_after_done(void **state)
{
    (void)state;
    scoped(keep_done) struct keep k = KEEP_INIT(4);
    add(&k, "abcdefgh");
    keep_done(&k);
    assert_int_equal(keep_dropped(&k), 0);
    add(&k, "wxyz");
    assert_text(&k, "wxyz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_comes_out_as_it_went_in),
        cmocka_unit_test(exactly_the_limit_fits_and_one_more_drops_one_from_the_middle),
        cmocka_unit_test(an_odd_limit_gives_the_odd_byte_to_the_head),
        cmocka_unit_test(the_smallest_limits_hold),
        cmocka_unit_test(any_mixture_of_sizes_keeps_the_first_and_the_last),
        cmocka_unit_test(no_character_is_torn_by_the_cuts),
        cmocka_unit_test(a_character_across_head_and_tail_stays_whole_when_nothing_is_dropped),
        cmocka_unit_test(a_keep_is_usable_again_after_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
