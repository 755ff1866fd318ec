#include "api/preview.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

/* "[a|b][c]": the rows of a text. */
static void assert_rows(const char *text, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    struct csv c = csv_begin(str_of(text), /* is_tabs= */ false);
    struct str cell;
    char piece[16];
    bool is_first = true;
    for (enum csv_end end; (end = csv_next(&c, &cell)) != CSV_NONE;) {
        csv_text(cell, piece, sizeof piece);
        buf_fmt(&out, "%s%s", is_first ? "[" : "|", piece);
        is_first = end == CSV_ROW;
        if (is_first)
            buf_str(&out, "]");
    }
    assert_string_equal(out.bytes ? out.bytes : "", expected);
}

static void rows_and_cells_come_as_they_stand_there(void **state)
{
    (void)state;
    assert_rows("", "");
    assert_rows("a,b\n1,2\n", "[a|b][1|2]");
    assert_rows("a,b\r\n1,2\r\n", "[a|b][1|2]");
    assert_rows("a,b\n1,2", "[a|b][1|2]");
    assert_rows("a,\n,b\n\nc", "[a|][|b][][c]");
    assert_rows("\xef\xbb\xbf"
                "a;b\n1,5;2\n",
                "[a|b][1,5|2]");
    assert_rows("a\tb\n1\t2\n", "[a|b][1|2]");
}

static void quotes_hold_separators_and_lines(void **state)
{
    (void)state;
    assert_rows("\"a,b\",c\n", "[a,b|c]");
    assert_rows("\"a\nb\",c\n", "[a\nb|c]");
    assert_rows("\"say \"\"hi\"\"\",c\n", "[say \"hi\"|c]");
    assert_rows("\"\"\"\",c\n", "[\"|c]");
    assert_rows("\"\",c\n", "[|c]");
    assert_rows("a \"b\",c\n", "[a \"b\"|c]");
    assert_rows("\"cut off, here\n", "[cut off, here\n]");
    assert_rows("\"a\"b,c\n", "[ab|c]");
}

static void a_cell_is_cut_between_characters(void **state)
{
    (void)state;
    char to[8];
    assert_int_equal(csv_text(str_of("1234567"), to, sizeof to), 7);
    assert_int_equal(csv_text(str_of("12345678"), to, sizeof to), 7);
    assert_int_equal(csv_text(str_of("123456\xc3\xbc"), to, sizeof to), 6);
    assert_string_equal(to, "123456");
}

static void only_pictures_and_text_are_shown(void **state)
{
    (void)state;
    static const struct {
        const char *path, *type;
    } cases[] = {
        {"a.png", "image/png"},    {"a.JPG", "image/jpeg"},
        {"a.gif", "image/gif"},    {"a.webp", "image/webp"},
        {"a.svg", "text/plain"},   {"a.html", "text/plain"},
        {"a.xhtml", "text/plain"}, {"a.xml", "text/plain"},
        {"a.md", "text/plain"},    {"a.csv", "text/plain"},
        {"a.json", "text/plain"},  {"a.js", "text/plain"},
        {"a.pdf", NULL},           {"a.zip", NULL},
        {"a.bin", NULL},           {"a", NULL},
        {"a.swf", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *type = preview_type(cases[i].path);
        if (!cases[i].type)
            assert_null(type);
        else
            assert_string_equal(type, cases[i].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_cells_come_as_they_stand_there),
        cmocka_unit_test(quotes_hold_separators_and_lines),
        cmocka_unit_test(a_cell_is_cut_between_characters),
        cmocka_unit_test(only_pictures_and_text_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
