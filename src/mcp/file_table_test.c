#include "mcp/file_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"

struct wish {
    uint64_t skip, limit, rows;
    size_t columns;
};

static void assert_table(const char *text, struct wish w, const char *expected)
{
    size_t len = strlen(text);
    const char *head = strchr(text, '\n');
    size_t first =
        head ? (size_t)(head - text) + 1 : len; /* what separates is seen in the first line */
    for (size_t piece = 1; piece <= len + 1; piece++) {
        scoped(buf_done) struct buf out = BUF_INIT(1 << 16);
        scoped(file_table_done) struct table t = {
            .skip = w.skip, .limit = w.limit, .text_max = 1 << 15, .out = &out};
        table_feed(&t, text, first);
        for (size_t at = first; at < len; at += piece)
            table_feed(&t, text + at, piece < len - at ? piece : len - at);
        table_end(&t);
        assert_string_equal(out.bytes ? out.bytes : "", expected);
        assert_int_equal(t.rows, w.rows);
        assert_int_equal(t.columns, w.columns);
    }
}

static void the_first_row_is_the_heading(void **state)
{
    (void)state;
    assert_table("", (struct wish){.limit = 9}, "");
    assert_table("a,b\n1,2\n3,4", (struct wish){.limit = 9, .rows = 2, .columns = 2},
                 "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n");
    assert_table("a;b\r\n1;2,5\r\n", (struct wish){.limit = 9, .rows = 1, .columns = 2},
                 "| a | b |\n| --- | --- |\n| 1 | 2,5 |\n");
}

static void quotes_line_ends_and_bars_do_not_break_the_table(void **state)
{
    (void)state;
    assert_table("a,b\n\"x\ny\",\"say \"\"hi\"\"\"\n\"p|q\",\"1,2\"\n",
                 (struct wish){.limit = 9, .rows = 2, .columns = 2},
                 "| a | b |\n| --- | --- |\n| x y | say \"hi\" |\n| p\\|q | 1,2 |\n");
}

static void some_rows_are_skipped_and_the_rest_is_counted(void **state)
{
    (void)state;
    assert_table("a,b\n1,1\n2,2\n\n3,3\n4,4\n",
                 (struct wish){.skip = 1, .limit = 2, .rows = 4, .columns = 2},
                 "| a | b |\n| --- | --- |\n| 2 | 2 |\n| 3 | 3 |\n");
}

static void a_row_without_an_end_is_given_up(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1 << 16);
    scoped(file_table_done) struct table t = {.limit = 9, .text_max = 1 << 15, .out = &out};
    static char piece[256 << 10];
    memset(piece, 'x', sizeof piece);
    table_feed(&t, "a,b\n1,\"2", 8);
    for (int i = 0; i < 8; i++)
        table_feed(&t, piece, sizeof piece);
    table_end(&t);
    assert_true(t.is_broken && t.is_full);
    assert_int_equal(t.shown, 0);
}

static void long_cells_and_many_columns_are_cut(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1 << 16), text = BUF_INIT(1 << 16);
    scoped(file_table_done) struct table t = {.limit = 9, .text_max = 1 << 15, .out = &out};
    for (int i = 0; i < TABLE_COLUMNS + 5; i++)
        buf_fmt(&text, "%sc%d", i ? "," : "", i);
    buf_str(&text, "\n");
    for (int i = 0; i < 50; i++)
        buf_str(&text, "0123456789");
    buf_str(&text, ",2\n");
    table_feed(&t, text.bytes, text.len);
    assert_int_equal(t.columns, TABLE_COLUMNS + 5);
    assert_non_null(strstr(out.bytes, "| c39 | … |\n"));
    assert_null(strstr(out.bytes, "c40"));
    assert_non_null(strstr(out.bytes, "789… | 2 |\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_row_is_the_heading),
        cmocka_unit_test(quotes_line_ends_and_bars_do_not_break_the_table),
        cmocka_unit_test(some_rows_are_skipped_and_the_rest_is_counted),
        cmocka_unit_test(a_row_without_an_end_is_given_up),
        cmocka_unit_test(long_cells_and_many_columns_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
