#include "cli/sse_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

enum { ENOUGH = 4096 };

static int collect(void *arg, const struct sse_event *event, struct err *e)
{
    struct buf *out = arg;
    (void)e;
    buf_fmt(out, "%s|%s|", event->name, event->id);
    buf_add(out, event->text, event->len);
    buf_str(out, ";");
    return 0;
}

static int refuse(void *arg, const struct sse_event *event, struct err *e)
{
    (void)arg;
    return err_set(e, ERR_GONE, "no %s", event->name);
}

/* Feeds the stream in pieces of `step` bytes. */
static const char *read_in_steps(const char *stream, size_t len, size_t step, struct buf *out)
{
    scoped(sse_done) struct sse_reader r = SSE_READER(ENOUGH);
    const struct sse_sink sink = {collect, out};
    struct err e = {0};
    for (size_t at = 0; at < len; at += step)
        assert_int_equal(sse_feed(&r, stream + at, step < len - at ? step : len - at, &sink, &e),
                         0);
    return out->bytes ? out->bytes : "";
}

#define CHECK_LEN(expected, stream, len)                                                 \
    do {                                                                                 \
        for (size_t step = 1; step <= (len); step++) {                                   \
            scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);                          \
            assert_string_equal(read_in_steps((stream), (len), step, &out), (expected)); \
        }                                                                                \
    } while (0)
#define CHECK(expected, stream) CHECK_LEN(expected, stream, strlen(stream))

static void an_empty_line_ends_an_event(void **state)
{
    (void)state;
    CHECK("stdout|3|{};", "id: 3\nevent: stdout\ndata: {}\n\n");
    CHECK("a||1;b||2;", "event:a\ndata:1\n\nevent:b\ndata:2\n\n");
}

static void lines_end_with_lf_cr_or_both(void **state)
{
    (void)state;
    CHECK("message||1\n2;", "data: 1\r\ndata: 2\r\n\r\n");
    CHECK("message||1\n2;", "data: 1\rdata: 2\r\r");
    CHECK("message||1;message||2;", "data: 1\r\n\ndata: 2\n\r");
}

static void only_one_blank_after_the_colon_is_not_data(void **state)
{
    (void)state;
    CHECK("message|| x;", "data:  x\n\n");
    CHECK("message||;", "data\n\n");
    CHECK("message||;", "data:\n\n");
    CHECK("message||\n;", "data\ndata\n\n");
}

static void comments_and_unknown_fields_are_nothing(void **state)
{
    (void)state;
    CHECK("message||x;", ": ping\n\nretry: 5\ndata: x\nfancy: 1\n: more\n\n: ping\n\n");
}

static void an_event_without_data_is_dropped_and_so_is_its_name(void **state)
{
    (void)state;
    CHECK("message|7|x;", "event: lost\nid: 7\n\ndata: x\n\n");
}

static void the_id_stays_until_another_comes(void **state)
{
    (void)state;
    CHECK("message|1|a;message|1|b;message||c;", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n");
}

static void what_is_not_ended_is_not_an_event(void **state)
{
    (void)state;
    CHECK("", "data: half");
    CHECK("message||whole;", "data: whole\n\ndata: half\n");
}

static void a_byte_order_mark_counts_only_at_the_beginning(void **state)
{
    (void)state;
    CHECK("message||x;", "\xef\xbb\xbf"
                         "data: x\n\n");
    CHECK("", "\n\xef\xbb\xbf"
              "data: x\n\n");
}

static void an_id_with_a_nul_is_ignored(void **state)
{
    static const char stream[] = "id: 1\nid: 2\0\ndata: x\n\n";
    (void)state;
    CHECK_LEN("message|1|x;", stream, sizeof stream - 1);
}

static int feed(size_t max, const char *stream, struct err *e)
{
    scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
    scoped(sse_done) struct sse_reader r = SSE_READER(max);
    const struct sse_sink sink = {collect, &out};
    return sse_feed(&r, stream, strlen(stream), &sink, e);
}

static void exactly_the_limit_fits_and_one_more_does_not(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(feed(16, "data: 0123456789\n\n", &e), 0);
    assert_int_equal(feed(16, "data: 0123456789a\n\n", &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(feed(16, "data: 01234567\ndata: 0123456\n\n", &e), -1);
    assert_int_equal(feed(16, "data: 0123456\ndata: 0123456\n\n", &e), 0);
}

static void a_word_longer_than_its_limit_is_an_error(void **state)
{
    (void)state;
    struct err e = {0};
    char stream[SSE_WORD_MAX + 32];
    (void)snprintf(stream, sizeof stream, "id: %0*d\n", SSE_WORD_MAX, 1);
    assert_int_equal(feed(ENOUGH, stream, &e), 0);
    (void)snprintf(stream, sizeof stream, "id: %0*d\n", SSE_WORD_MAX + 1, 1);
    assert_int_equal(feed(ENOUGH, stream, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
}

static void a_sink_that_fails_ends_the_feeding(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(sse_done) struct sse_reader r = SSE_READER(ENOUGH);
    const struct sse_sink sink = {refuse, NULL};
    const char stream[] = "event: a\ndata: 1\n\nevent: b\ndata: 2\n\n";
    assert_int_equal(sse_feed(&r, stream, sizeof stream - 1, &sink, &e), -1);
    assert_string_equal(e.text, "no a");
}

static void retry_is_kept_if_it_is_a_number(void **state)
{
    (void)state;
    static const struct {
        const char *stream;
        unsigned retry_ms;
    } table[] = {
        {"retry: 250\n", 250},
        {"retry:0\n", 0},
        {"retry: 250\nretry:\n", 250},
        {"retry: 250\nretry: 2s\n", 250},
        {"retry: -1\n", 0},
        {"retry: 99999999999999999999\n", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        scoped(sse_done) struct sse_reader r = SSE_READER(ENOUGH);
        scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
        const struct sse_sink sink = {collect, &out};
        struct err e = {0};
        assert_int_equal(sse_feed(&r, table[i].stream, strlen(table[i].stream), &sink, &e), 0);
        assert_int_equal(r.retry_ms, table[i].retry_ms);
        assert_int_equal(out.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_is_kept_if_it_is_a_number),
        cmocka_unit_test(an_empty_line_ends_an_event),
        cmocka_unit_test(lines_end_with_lf_cr_or_both),
        cmocka_unit_test(only_one_blank_after_the_colon_is_not_data),
        cmocka_unit_test(comments_and_unknown_fields_are_nothing),
        cmocka_unit_test(an_event_without_data_is_dropped_and_so_is_its_name),
        cmocka_unit_test(the_id_stays_until_another_comes),
        cmocka_unit_test(what_is_not_ended_is_not_an_event),
        cmocka_unit_test(a_byte_order_mark_counts_only_at_the_beginning),
        cmocka_unit_test(an_id_with_a_nul_is_ignored),
        cmocka_unit_test(exactly_the_limit_fits_and_one_more_does_not),
        cmocka_unit_test(a_word_longer_than_its_limit_is_an_error),
        cmocka_unit_test(a_sink_that_fails_ends_the_feeding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
