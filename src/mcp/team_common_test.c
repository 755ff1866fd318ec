/* What team_common.h promises of text and lists. */
#include "mcp/team_common.h"

#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "mcp/mcp_int.h"

static void others_text_stays_on_its_line_and_ends(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    team_say(&out, "a\nnext: b\t\x7f", 100);
    buf_str(&out, "|");
    team_say(&out, "12345", 5);
    buf_str(&out, "|");
    team_say(&out, "123456", 5);
    buf_str(&out, "|");
    team_say(&out, "1234\xc3\xbc", 5); /* not in the middle of a character */
    assert_string_equal(out.bytes, "a next: b  |12345|12345...|1234...");
}

static void sizes_and_times_are_short(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *expected;
    } cases[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.0 KB"},
                 {1536, "1.5 KB"},
                 {1048575, "1023.9 KB"},
                 {1048576, "1.0 MB"},
                 {5368709120, "5.0 GB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(64);
        team_say_size(&out, cases[i].bytes);
        assert_string_equal(out.bytes, cases[i].expected);
    }
    scoped(buf_done) struct buf out = BUF_INIT(128);
    team_say_time(&out, "2026-01-31T12:00:00.123Z");
    team_say_time(&out, "");
    assert_string_equal(out.bytes, "2026-01-31T12:00:00Z-");
}

/* ---- lists ---- */

static void number_row(const struct json_t *row, struct buf *line, struct json_writer *w)
{
    buf_fmt(line, "row %s", team_text(row, "text"));
    jw_object(w);
    team_copy(w, row, "text");
    jw_end_object(w);
}

/* `count` rows of `len` letters each; the last line of the text, and the cursor. */
static void lists(size_t count, size_t len, const char *number, const char *cursor,
                  const char *expected_end, const char *expected_cursor)
{
    struct mcp_call m = {.reply = {.text = BUF_INIT(1 << 20), .structured = BUF_INIT(1 << 20)}};
    const struct team_list list = {
        .key = "rows", .empty = "none", .columns = "columns", .number = number, .row = number_row};
    scoped(buf_done) struct buf letters = BUF_INIT(1 << 20);
    json_t *page = json_object(), *rows = json_array();
    for (size_t i = 0; i < len; i++)
        buf_str(&letters, "x");
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            rows, json_pack("{s:s, s:I}", "text", letters.bytes, "seq", (json_int_t)(1000 - i)));
    json_object_set_new(page, "data", rows);
    json_object_set_new(page, "has_more", json_boolean(cursor != NULL));
    json_object_set_new(page, "next_cursor", cursor ? json_string(cursor) : json_null());
    m.reply.w = JSON_WRITER(&m.reply.structured);
    jw_object(&m.reply.w);
    assert_int_equal(team_list(&m, &list, page), count);
    jw_end_object(&m.reply.w);
    assert_true(m.reply.structured.len <= REPLY_STRUCTURED_MAX);
    assert_true(m.reply.text.len <= REPLY_TEXT_MAX);
    size_t end = strlen(expected_end);
    assert_true(m.reply.text.len >= end);
    assert_string_equal(m.reply.text.bytes + m.reply.text.len - end, expected_end);
    json_t *said = json_loads(m.reply.structured.bytes, 0, NULL);
    assert_non_null(said);
    assert_string_equal(team_text(said, "next_cursor"), expected_cursor);
    json_decref(said);
    json_decref(page);
    buf_done(&m.reply.text);
    buf_done(&m.reply.structured);
}

static void a_list_shows_what_fits_and_says_how_to_go_on(void **state)
{
    (void)state;
    lists(0, 0, NULL, NULL, "none\n", "");
    lists(2, 3, NULL, NULL, "columns\nrow xxx\nrow xxx\n", "");
    lists(2, 3, NULL, "abc", "row xxx\nmore: repeat with cursor=\"abc\"\n", "abc");
    /* Ten of a thousand bytes are all there is room for; the cursor of the page would leave out the rest. */
    lists(20, 1000, NULL, "abc", "more: only 10 of 20 fit here; repeat with limit=10\n", "");
    lists(20, 1000, "seq", "abc", "more: repeat with cursor=\"991\"\n", "991");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_text_stays_on_its_line_and_ends),
        cmocka_unit_test(sizes_and_times_are_short),
        cmocka_unit_test(a_list_shows_what_fits_and_says_how_to_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
