/* What transcript.h promises. */
#include "ask/transcript.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/read.h"

static const char record_text[] =
    "{\"answer\":{\"id\":\"ans_1\",\"question\":\"Which city\\nsells most?\",\"answer\":\"Berlin, 30 units [1].\",\"end\":\"ok\","
    "\"model\":\"m\",\"created_at\":\"2026-01-31T12:00:00.000Z\",\"error\":null,"
    "\"figures\":[{\"text\":\"30\",\"value\":30,\"run_id\":\"run_2\",\"line\":\"Berlin | 30\"},"
    "{\"text\":\"7\",\"value\":7,\"run_id\":null,\"line\":null}],"
    "\"citations\":[{\"kind\":\"file\",\"mark\":1,\"path\":\"a.pdf\",\"version\":2,\"page\":3,\"url\":\"/u\",\"start\":0,\"end\":3},"
    "{\"kind\":\"file\",\"mark\":1,\"path\":\"a.pdf\",\"version\":2,\"page\":3,\"url\":\"/u\",\"start\":9,\"end\":12}],"
    "\"unknown_marks\":[9],\"verification\":null},"
    "\"items\":[{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}]},"
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"I look.\"}]},"
    "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"search_workspace\",\"arguments\":\"{\\\"query\\\":\\\"x\\\"}\"},"
    "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"[1] a.pdf\"},"
    "{\"type\":\"code_interpreter_call\",\"code\":\"1/0\",\"x_run\":{\"id\":\"run_1\"}},"
    "{\"type\":\"code_interpreter_call\",\"code\":\"print('```')\",\"x_run\":{\"id\":\"run_2\"}},"
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Berlin, 30 units [1].\"}],"
    "\"runs\":[{\"id\":\"run_1\",\"end\":\"error\",\"stdout\":\"\",\"stderr\":\"\",\"result\":null,\"displays\":[],"
    "\"error\":{\"name\":\"ZeroDivisionError\",\"message\":\"division by zero\",\"traceback\":\"Traceback\\nZeroDivisionError\"},\"files\":[]},"
    "{\"id\":\"run_2\",\"end\":\"ok\",\"stdout\":\"```\\nBerlin | 30\\n\",\"stderr\":\"\",\"result\":{\"text/plain\":\"30\"},"
    "\"displays\":[{\"image/png\":\"aGk=\"}],\"error\":null,\"files\":[{\"path\":\"p.png\",\"change\":\"created\",\"version\":1}]},"
    "{\"id\":\"run_3\",\"code\":\"lost()\",\"end\":\"cancelled\"}]}";

static json_t *record(void)
{
    json_t *r = json_loads(record_text, 0, NULL);
    assert_non_null(r);
    return r;
}

static void has(const struct buf *b, const char *text)
{
    if (!b->bytes || !strstr(b->bytes, text))
        fail_msg("%s\nis not in\n%s", text, b->bytes ? b->bytes : "");
}

static void markdown_has_all_in_order(void **state)
{
    static const char *const parts[] = {"# Question\n\n> Which city\n> sells most?\n",
                                        "> hm\n",
                                        "I look.",
                                        "### search_workspace",
                                        "[1] a.pdf",
                                        "### Run 1 (`run_1`, error)",
                                        "1/0",
                                        "Traceback\nZeroDivisionError",
                                        "### Run 2 (`run_2`, ok)",
                                        "Berlin | 30",
                                        "file created: `p.png`, version 1",
                                        "### Run 3 (`run_3`, cancelled)",
                                        "lost()",
                                        "## Answer\n\nBerlin, 30 units [1].",
                                        "## Figures",
                                        "| 30 | run_2 | Berlin \\| 30 |",
                                        "| 7 | not found in any output |  |",
                                        "## Sources",
                                        "- [1] `a.pdf`, version 2, page 3",
                                        "- [9] stands for nothing"};
    struct buf out = BUF_INIT(1 << 20);
    json_t *r = record();
    (void)state;
    transcript_markdown(r, &out);
    const char *at = out.bytes;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found)
            fail_msg("%s is missing or out of order in\n%s", parts[i], out.bytes);
        at = found;
    }
    assert_null(strstr(strstr(out.bytes, "- [1] `a.pdf`") + 1, "- [1] `a.pdf`"));
    buf_done(&out);
    json_decref(r);
}

static void text_cannot_get_out_of_its_fence(void **state)
{
    struct buf out = BUF_INIT(1 << 20);
    json_t *r = record();
    (void)state;
    transcript_markdown(r, &out);
    has(&out, "````python\nprint('```')\n````");
    has(&out, "````text\n```\nBerlin | 30\n````");
    buf_done(&out);
    json_decref(r);
}

static void a_notebook_has_a_cell_for_each_step(void **state)
{
    struct buf out = BUF_INIT(1 << 20);
    struct err e = {0};
    json_t *r = record(), *book = NULL;
    (void)state;
    transcript_notebook(r, &out);
    assert_int_equal(json_read(out.bytes, out.len, &book, &e), 0);
    const json_t *cells = json_object_get(book, "cells");
    /* question, said, search, three runs, answer */
    assert_int_equal(json_array_size(cells), 7);
    const json_t *second = json_array_get(cells, 4);
    assert_string_equal(json_string_value(json_object_get(second, "cell_type")), "code");
    assert_int_equal(json_array_size(json_object_get(second, "outputs")), 3);
    const json_t *failed = json_array_get(json_object_get(json_array_get(cells, 3), "outputs"), 0);
    assert_string_equal(json_string_value(json_object_get(failed, "ename")), "ZeroDivisionError");
    assert_int_equal(json_integer_value(json_object_get(book, "nbformat")), 4);
    json_decref(book);
    buf_done(&out);
    json_decref(r);
}

static void nothing_at_all_is_a_transcript_too(void **state)
{
    struct buf out = BUF_INIT(1 << 20);
    json_t *r = json_object();
    (void)state;
    transcript_markdown(r, &out);
    has(&out, "There is none.");
    buf_done(&out);
    transcript_notebook(r, &out);
    has(&out, "\"cells\"");
    buf_done(&out);
    json_decref(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown_has_all_in_order),
        cmocka_unit_test(text_cannot_get_out_of_its_fence),
        cmocka_unit_test(a_notebook_has_a_cell_for_each_step),
        cmocka_unit_test(nothing_at_all_is_a_transcript_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
