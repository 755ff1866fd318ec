#include "mcp/file_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

struct wish {
    uint64_t skip, limit, count, shown;
    size_t text_max;
};

/* Whatever the size of the pieces. */
static void assert_lines(const char *text, struct wish w, const char *expected)
{
    size_t len = strlen(text);
    for (size_t piece = 1; piece <= len + 1; piece++) {
        scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
        struct lines l = {.skip = w.skip,
                          .limit = w.limit,
                          .out = &out,
                          .text_max = w.text_max ? w.text_max : 1 << 20};
        for (size_t at = 0; at < len; at += piece)
            lines_feed(&l, text + at, piece < len - at ? piece : len - at);
        lines_end(&l);
        assert_string_equal(out.bytes ? out.bytes : "", expected);
        assert_int_equal(l.count, w.count);
        assert_int_equal(l.shown, w.shown);
    }
}

static void lines_are_numbered_and_the_last_needs_no_end(void **state)
{
    (void)state;
    assert_lines("", (struct wish){.limit = 9}, "");
    assert_lines("a\nb\n", (struct wish){.limit = 9, .count = 2, .shown = 2},
                 "     1\ta\n     2\tb\n");
    assert_lines("a\n\nb", (struct wish){.limit = 9, .count = 3, .shown = 3},
                 "     1\ta\n     2\t\n     3\tb\n");
    assert_lines("a\r\nb\r\n", (struct wish){.limit = 9, .count = 2, .shown = 2},
                 "     1\ta\n     2\tb\n");
}

static void some_are_skipped_and_what_comes_after_is_counted(void **state)
{
    (void)state;
    assert_lines("a\nb\nc\nd\ne\n", (struct wish){.skip = 1, .limit = 2, .count = 5, .shown = 2},
                 "     2\tb\n     3\tc\n");
    assert_lines("a\nb", (struct wish){.skip = 5, .limit = 2, .count = 2}, "");
}

static void no_more_is_shown_than_there_is_room_for(void **state)
{
    (void)state;
    assert_lines("aaaa\nbbbb\ncccc\n",
                 (struct wish){.limit = 9, .count = 3, .shown = 2, .text_max = 12 + 4 + 64},
                 "     1\taaaa\n     2\tbbbb\n");
}

static void a_long_line_is_cut_between_characters_and_says_so(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
    struct lines l = {.limit = 9, .out = &out, .text_max = 1 << 20};
    scoped(freep) char *text = malloc(3 * LINES_LINE_MAX);
    assert_non_null(text);
    for (size_t i = 0; i < 3 * LINES_LINE_MAX; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    lines_feed(&l, text, 3 * LINES_LINE_MAX);
    lines_feed(&l, "\nnext\n", 6);
    lines_end(&l);
    assert_int_equal(l.cut, 1);
    assert_int_equal(l.count, 2);
    size_t kept = LINES_LINE_MAX / 3 * 3;
    assert_memory_equal(out.bytes + 7 + kept, " [cut: 4002 more bytes]\n     2\tnext\n", 36);
}

static void what_is_not_read_to_its_end_can_be_shown_as_far_as_it_came(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    struct lines l = {.limit = 9, .out = &out, .text_max = 4096};
    lines_feed(&l, "abc", 3);
    lines_give_up(&l);
    assert_string_equal(out.bytes, "     1\tabc [cut: at least 0 more bytes]\n");
}

static void crlf_is_noticed(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    struct lines l = {.limit = 9, .out = &out, .text_max = 4096};
    lines_feed(&l, "a\r", 2);
    lines_feed(&l, "\nb\nc\r\n", 6);
    assert_int_equal(l.crlf, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_numbered_and_the_last_needs_no_end),
        cmocka_unit_test(some_are_skipped_and_what_comes_after_is_counted),
        cmocka_unit_test(no_more_is_shown_than_there_is_room_for),
        cmocka_unit_test(a_long_line_is_cut_between_characters_and_says_so),
        cmocka_unit_test(what_is_not_read_to_its_end_can_be_shown_as_far_as_it_came),
        cmocka_unit_test(crlf_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
