#include "agent/model_sse.h"

#include <string.h>

#include "base/expect.h"
#include "base/scope.h"

static int put(void *arg, struct str text, struct err *e)
{
    (void)e;
    buf_fmt(arg, "<%.*s>", (int)text.len, text.ptr);
    return 0;
}

/* All of it, in pieces of every size: the result is the same. */
static void becomes(const char *stream, const char *wanted)
{
    for (size_t step = 1; step <= strlen(stream); step++) {
        scoped(buf_done) struct buf heard = BUF_INIT(1000);
        scoped(model_sse_done) struct model_sse s = MODEL_SSE(100);
        const struct model_sse_sink sink = {.put = put, .arg = &heard};
        for (size_t at = 0; at < strlen(stream); at += step) {
            size_t left = strlen(stream) - at;
            OK(model_sse_feed(&s, (struct str){stream + at, left < step ? left : step}, &sink, e));
        }
        OK(model_sse_end(&s, &sink, e));
        assert_string_equal(heard.bytes ? heard.bytes : "", wanted);
    }
}

static void data_is_told_and_nothing_else(void **state)
{
    (void)state;
    becomes("data: a\n\ndata:b\n\ndata:  c\n\n", "<a><b>< c>");
    becomes(": comment\n\nevent: x\nid: 7\nretry: 1\ndata: a\n\nevent: y\n\ndatab: c\n\n", "<a>");
    becomes("data: a\ndata: b\ndata:\n\ndata\n\n", "<a\nb\n>");
    becomes("data:\n\n", "<>");
}

static void lines_end_in_three_ways(void **state)
{
    (void)state;
    becomes("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "<a><b><c>");
    becomes("data: a\r\ndata: b\r\n\r\n", "<a\nb>");
}

static void the_last_event_needs_no_empty_line(void **state)
{
    (void)state;
    becomes("data: a\n\ndata: b\n", "<a><b>");
    becomes("data: a\n\ndata: b", "<a><b>");
    becomes("data: \xc3\xa4", "<\xc3\xa4>");
}

static void an_event_of_the_limit_is_taken_and_one_byte_more_is_not(void **state)
{
    (void)state;
    scoped(buf_done) struct buf heard = BUF_INIT(1000);
    const struct model_sse_sink sink = {.put = put, .arg = &heard};
    struct model_sse s = MODEL_SSE(10);
    OK(model_sse_feed(&s, str_of("data: 1234\ndata: 5678\n\ndata: 1234\n"), &sink, e));
    FAILS(ERR_PROTOCOL, model_sse_feed(&s, str_of("data: 5678\ndata: 9\n"), &sink, e));
    model_sse_done(&s);
    s = MODEL_SSE(10);
    FAILS(ERR_PROTOCOL, model_sse_feed(&s, str_of(": 901234567"), &sink, e));
    model_sse_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_told_and_nothing_else),
        cmocka_unit_test(lines_end_in_three_ways),
        cmocka_unit_test(the_last_event_needs_no_empty_line),
        cmocka_unit_test(an_event_of_the_limit_is_taken_and_one_byte_more_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
