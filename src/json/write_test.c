#include "json/write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static void objects_and_arrays_get_their_commas(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    struct json_writer w = JSON_WRITER(&b);
    jw_object(&w);
    jw_key(&w, "a");
    jw_u64(&w, UINT64_MAX);
    jw_key(&w, "b");
    jw_array(&w);
    jw_i64(&w, INT64_MIN);
    jw_object(&w);
    jw_end_object(&w);
    jw_array(&w);
    jw_end_array(&w);
    jw_bool(&w, true);
    jw_null(&w);
    jw_end_array(&w);
    jw_key(&w, "c");
    jw_raw(&w, "[1,2]", 5);
    jw_end_object(&w);
    jw_finish(&w);
    assert_string_equal(
        b.bytes,
        "{\"a\":18446744073709551615,\"b\":[-9223372036854775808,{},[],true,null],\"c\":[1,2]}");
}

static void check_string(const char *bytes, size_t len, const char *expected)
{
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    struct json_writer w = JSON_WRITER(&b);
    jw_str(&w, bytes, len);
    jw_finish(&w);
    assert_string_equal(b.bytes, expected);
}

static void control_characters_quotes_and_line_separators_are_escaped(void **state)
{
    (void)state;
    check_string("a\"b\\c\n\r\t", 8, "\"a\\\"b\\\\c\\n\\r\\t\"");
    check_string("\0\x1f\x7f", 3, "\"\\u0000\\u001f\\u007f\"");
    check_string("\xe2\x80\xa8|\xe2\x80\xa9|\xe2\x80\xaa", 11, "\"\\u2028|\\u2029|\xe2\x80\xaa\"");
}

static void utf8_stands_as_it_is_and_anything_else_is_replaced(void **state)
{
    (void)state;
    check_string("h\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\xa6\x97", 12,
                 "\"h\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\xa6\x97\"");
    check_string("\xff", 1, "\"\xef\xbf\xbd\"");
    check_string("a\xc3", 2, "\"a\xef\xbf\xbd\"");               /* cut short */
    check_string("\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""); /* an overlong slash */
    check_string("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* a surrogate */
}

static void no_bytes_are_an_empty_string_and_no_text_is_null(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(100);
    struct json_writer w = JSON_WRITER(&b);
    jw_array(&w);
    jw_str(&w, NULL, 0);
    jw_text(&w, "");
    jw_text(&w, NULL);
    jw_end_array(&w);
    assert_string_equal(b.bytes, "[\"\",\"\",null]");
}

static void keys_are_escaped_like_strings(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(100);
    struct json_writer w = JSON_WRITER(&b);
    jw_object(&w);
    jw_key_str(&w, "a\"\xff\n", 4);
    jw_base64(&w, "foobar", 6);
    jw_end_object(&w);
    assert_string_equal(b.bytes, "{\"a\\\"\xef\xbf\xbd\\n\":\"Zm9vYmFy\"}");
}

static void decimals_are_exact_and_have_no_trailing_zeros(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(200);
    struct json_writer w = JSON_WRITER(&b);
    jw_array(&w);
    jw_decimal(&w, 1500, 3);
    jw_decimal(&w, 1000, 3);
    jw_decimal(&w, 1, 3);
    jw_decimal(&w, 0, 3);
    jw_decimal(&w, 7, 0);
    jw_decimal(&w, 1050, 3);
    jw_end_array(&w);
    assert_string_equal(b.bytes, "[1.5,1,0.001,0,7,1.05]");
}

static void what_does_not_fit_is_noticed_once_at_the_end(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(buf_done) struct buf b = BUF_INIT(6);
    struct json_writer w = JSON_WRITER(&b);
    jw_array(&w);
    jw_text(&w, "toolong");
    jw_text(&w, "x");
    jw_end_array(&w);
    jw_finish(&w);
    assert_int_equal(buf_check(&b, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void nests_to_the_limit(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    struct json_writer w = JSON_WRITER(&b);
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        jw_array(&w);
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        jw_end_array(&w);
    jw_finish(&w);
    assert_int_equal(b.len, 2 * JSON_DEPTH_MAX);
}

static void value_without_key(struct json_writer *w)
{
    jw_object(w);
    jw_null(w);
}

static void key_in_array(struct json_writer *w)
{
    jw_array(w);
    jw_key(w, "k");
}

static void key_without_value(struct json_writer *w)
{
    jw_object(w);
    jw_key(w, "k");
    jw_end_object(w);
}

static void close_of_the_other_kind(struct json_writer *w)
{
    jw_object(w);
    jw_end_array(w);
}

static void close_of_nothing(struct json_writer *w)
{
    jw_end_array(w);
}

static void two_documents(struct json_writer *w)
{
    jw_null(w);
    jw_null(w);
}

static void left_open(struct json_writer *w)
{
    jw_array(w);
    jw_finish(w);
}

static void nothing_at_all(struct json_writer *w)
{
    jw_finish(w);
}

static void one_level_too_many(struct json_writer *w)
{
    for (int i = 0; i <= JSON_DEPTH_MAX; i++)
        jw_array(w);
}

/* True if `misuse` ends the process by SIGABRT. */
static bool aborts(void (*misuse)(struct json_writer *w))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(STDERR_FILENO);
        struct buf b = BUF_INIT(1000);
        struct json_writer w = JSON_WRITER(&b);
        /* cmocka catches SIGABRT of its own process; here it has to end the child. */
        struct sigaction by_default = {.sa_handler = SIG_DFL};
        (void)sigaction(SIGABRT, &by_default, NULL);
        misuse(&w);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void calls_out_of_order_assert(void **state)
{
    (void)state;
    assert_true(aborts(value_without_key));
    assert_true(aborts(key_in_array));
    assert_true(aborts(key_without_value));
    assert_true(aborts(close_of_the_other_kind));
    assert_true(aborts(close_of_nothing));
    assert_true(aborts(two_documents));
    assert_true(aborts(left_open));
    assert_true(aborts(nothing_at_all));
    assert_true(aborts(one_level_too_many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays_get_their_commas),
        cmocka_unit_test(control_characters_quotes_and_line_separators_are_escaped),
        cmocka_unit_test(utf8_stands_as_it_is_and_anything_else_is_replaced),
        cmocka_unit_test(no_bytes_are_an_empty_string_and_no_text_is_null),
        cmocka_unit_test(keys_are_escaped_like_strings),
        cmocka_unit_test(decimals_are_exact_and_have_no_trailing_zeros),
        cmocka_unit_test(what_does_not_fit_is_noticed_once_at_the_end),
        cmocka_unit_test(nests_to_the_limit),
        cmocka_unit_test(calls_out_of_order_assert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
