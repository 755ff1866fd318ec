#include "cli/mcp_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"

enum { LIMIT = 8, ENOUGH = 4096 };

static void collect(void *arg, const char *line, size_t len)
{
    struct buf *out = arg;
    assert_int_equal(line[len], '\0');
    buf_add(out, line, len);
    buf_str(out, ";");
}

static void note_long(void *arg)
{
    buf_str(arg, "LONG;");
}

/* The lines of a stream that is cut into pieces of every size come out the same. */
static void check_len(const char *expected, const char *stream, size_t len)
{
    for (size_t step = 1; step <= len; step++) {
        scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
        scoped(mcp_lines_done) struct mcp_lines lines = MCP_LINES(LIMIT);
        const struct mcp_lines_sink sink = {collect, note_long, &out};
        for (size_t at = 0; at < len; at += step)
            mcp_lines_feed(&lines, stream + at, step < len - at ? step : len - at, &sink);
        mcp_lines_end(&lines, &sink);
        assert_string_equal(out.bytes ? out.bytes : "", expected);
    }
}

static void check(const char *expected, const char *stream)
{
    check_len(expected, stream, strlen(stream));
}

static void a_line_feed_ends_a_line(void **state)
{
    (void)state;
    check("{};[1];", "{}\n[1]\n");
    check("a;b;", "a\r\nb\r\n");
    check("a\rb;", "a\rb\n");
}

static void what_is_left_at_the_end_is_a_line(void **state)
{
    (void)state;
    check("a;b;", "a\nb");
    check("a;", "a\r");
}

static void lines_of_blanks_are_dropped(void **state)
{
    (void)state;
    check("a;b;", "\n\r\n \t\na\n\n\nb\n  ");
}

static void exactly_the_limit_fits_and_one_more_does_not(void **state)
{
    (void)state;
    check("12345678;a;", "12345678\na\n");
    check("LONG;a;", "123456789\na\n");
    check("LONG;", "123456789");
}

static void a_long_line_is_told_of_once_and_the_next_is_read(void **state)
{
    (void)state;
    check("a;LONG;b;LONG;c;", "a\n1234567890123456789012345678901234567890\nb\n"
                              "123456789123456789\nc\n");
}

static void a_nul_is_a_byte_like_another(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
    scoped(mcp_lines_done) struct mcp_lines lines = MCP_LINES(LIMIT);
    const struct mcp_lines_sink sink = {collect, note_long, &out};
    mcp_lines_feed(&lines, "a\0b\nc\n", 6, &sink);
    assert_int_equal(out.len, 6);
    assert_memory_equal(out.bytes, "a\0b;c;", 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_feed_ends_a_line),
        cmocka_unit_test(what_is_left_at_the_end_is_a_line),
        cmocka_unit_test(lines_of_blanks_are_dropped),
        cmocka_unit_test(exactly_the_limit_fits_and_one_more_does_not),
        cmocka_unit_test(a_long_line_is_told_of_once_and_the_next_is_read),
        cmocka_unit_test(a_nul_is_a_byte_like_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
