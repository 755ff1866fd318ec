#include "agent/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "json/write.h"

/* clang-format off */
static const struct {
    const char *raw, *plain;
} shown[] = {
    {"",                                            ""},
    {"plain\nlines\n",                              "plain\nlines\n"},
    {"\033[0;31mZeroDivisionError\033[0m: no\n",    "ZeroDivisionError: no\n"},
    {"\033[38;5;241mx\033[K\033[2J",                "x"},
    {"\033]0;title\aafter",                         "after"},
    {"\033]8;;http://a\033\\link\033]8;;\033\\",    "link"},
    {"\033(Bascii",                                 "Bascii"},
    {"\033",                                        ""},
    {"\033[",                                       ""},
    {"a\033[31",                                    "a31"},
    {"10%\r50%\r100%\ndone\n",                      "100%\ndone\n"},
    {"10%\r50%",                                    "50%"},
    {"dos\r\nlines\r\n",                            "dos\nlines\n"},
    {"kept\r",                                      "kept"},
    {"gr\xC3\xBC\xC3\x9F\n",                        "gr\xC3\xBC\xC3\x9F\n"},
};
/* clang-format on */

static void plain_is_what_a_terminal_shows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(1000);
        text_plain(&out, str_of(shown[i].raw));
        assert_string_equal(out.bytes ? out.bytes : "", shown[i].plain);
    }
}

static void exactly_the_limit_is_whole_and_one_more_is_not(void **state)
{
    (void)state;
    char text[101];
    memset(text, 'a', sizeof text);
    scoped(buf_done) struct buf whole = BUF_INIT(1000), less = BUF_INIT(1000);
    assert_false(text_shorten(&whole, (struct str){text, 100}, 100, NULL));
    assert_int_equal(whole.len, 101); /* and a line end */
    assert_true(text_shorten(&less, (struct str){text, 101}, 100, NULL));
    assert_non_null(strstr(less.bytes, "a\n[... 1 bytes left out ...]\na"));
}

static void long_texts_keep_whole_lines_of_both_ends(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
    for (int i = 0; i < 10000; i++)
        buf_fmt(&text, "line %d\n", i);
    assert_true(text_shorten(&out, (struct str){text.bytes, text.len}, 1000, "look in x.txt"));
    assert_true(out.len <= 1000 + TEXT_NOTICE_MAX);
    assert_memory_equal(out.bytes, "line 0\nline 1\n", 14);
    assert_string_equal(out.bytes + out.len - 20, "line 9998\nline 9999\n");
    char *notice = strstr(out.bytes, "[... ");
    assert_non_null(notice);
    assert_true(notice[-1] == '\n');
    assert_non_null(strstr(notice, " lines) left out; look in x.txt ...]\nline "));
    /* What is told adds up. */
    struct err e = {0};
    uint64_t told;
    char number[24] = {0};
    memcpy(number, notice + 5, strcspn(notice + 5, " "));
    assert_int_equal(parse_u64(number, 1, UINT32_MAX, &told, &e), 0);
    size_t rest = strlen(strchr(notice, '\n') + 1);
    assert_int_equal((size_t)(notice - out.bytes) + told + rest, text.len);
}

static void one_endless_line_is_cut_between_characters(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(1 << 20);
    buf_str(&text, "x");
    for (int i = 0; i < 5000; i++)
        buf_str(&text, i % 2 ? "\xE2\x82\xAC" : "\xF0\x9F\x98\x80");
    for (size_t max = 100; max < 120; max++) {
        scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
        assert_true(text_shorten(&out, (struct str){text.bytes, text.len}, max, NULL));
        assert_true(utf8_is_valid(out.bytes, out.len));
        assert_true(out.len <= max + TEXT_NOTICE_MAX);
    }
}

static void json_strings_stay_within_their_limit(void **state)
{
    (void)state;
    static const char *const pieces[] = {"\001",         "\"",           "a",   "\n",
                                         "\xE2\x80\xA8", "\xE4\xB8\xAD", "\x7F"};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        scoped(buf_done) struct buf text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
        scoped(buf_done) struct buf json = BUF_INIT(1 << 20);
        struct json_writer w = JSON_WRITER(&json);
        for (int i = 0; i < 20000; i++)
            buf_str(&text, pieces[p]);
        assert_true(text_shorten_json(&out, (struct str){text.bytes, text.len}, 4000));
        jw_str(&w, out.bytes, out.len);
        assert_true(json.len - 2 <= text_json_size((struct str){out.bytes, out.len}));
        assert_true(json.len - 2 <= 4000);
        assert_true(out.len >= 300);
    }
}

static void any_bytes_become_a_json_string(void **state)
{
    (void)state;
    static const struct {
        struct str raw;
        const char *text;
    } bytes[] = {
        {{"", 0}, ""},
        {{NULL, 0}, ""},
        {{"gr\xC3\xBC\xC3\x9F", 6}, "gr\xC3\xBC\xC3\x9F"},
        {{"a\0b\0", 4},
         "a\xEF\xBF\xBD"
         "b\xEF\xBF\xBD"},
        {{"\xFFz\xC3", 3}, "\xEF\xBF\xBDz\xEF\xBF\xBD"},
    };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        scoped(json_decrefp) json_t *json = text_json(bytes[i].raw);
        assert_non_null(json);
        assert_string_equal(json_string_value(json), bytes[i].text);
    }
}

static void windows_follow_each_other_without_a_gap(void **state)
{
    (void)state;
    const char *text = "a\xE2\x82\xAC"
                       "b\xF0\x9F\x98\x80\xF0\x9F\x98\x80"
                       "c";
    for (size_t len = 4; len < 20; len++) {
        scoped(buf_done) struct buf out = BUF_INIT(100);
        size_t next = 0, before;
        do {
            before = next;
            struct str piece = text_window(str_of(text), next, len, &next);
            assert_true(utf8_is_valid(piece.ptr, piece.len));
            buf_add(&out, piece.ptr, piece.len);
        } while (next > before);
        assert_string_equal(out.bytes, text);
    }
    size_t next;
    assert_int_equal(text_window(str_of(text), 1000, 10, &next).len, 0);
    assert_int_equal(next, strlen(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_is_what_a_terminal_shows),
        cmocka_unit_test(exactly_the_limit_is_whole_and_one_more_is_not),
        cmocka_unit_test(long_texts_keep_whole_lines_of_both_ends),
        cmocka_unit_test(one_endless_line_is_cut_between_characters),
        cmocka_unit_test(json_strings_stay_within_their_limit),
        cmocka_unit_test(any_bytes_become_a_json_string),
        cmocka_unit_test(windows_follow_each_other_without_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
