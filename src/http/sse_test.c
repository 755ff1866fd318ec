/* What sse.h promises. */
#include "http/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

static void check(const char *data, const char *expected)
{
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    sse_event(&b, 0, NULL, data, strlen(data));
    assert_string_equal(b.bytes, expected);
}

static void an_event_has_its_fields(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    sse_event(&b, 7, "run.done", "{}", 2);
    sse_comment(&b, "ping");
    assert_string_equal(b.bytes, "id: 7\nevent: run.done\ndata: {}\n\n: ping\n\n");
}

static void every_line_end_becomes_a_line_of_data(void **state)
{
    (void)state;
    check("", "data: \n\n");
    check("a", "data: a\n\n");
    check("a\nb", "data: a\ndata: b\n\n");
    check("a\r\nb", "data: a\ndata: b\n\n");
    check("a\rb", "data: a\ndata: b\n\n");
    check("a\n", "data: a\ndata: \n\n");
    check("\n\r\r\n", "data: \ndata: \ndata: \ndata: \n\n");
    check("event: x", "data: event: x\n\n");
}

static void a_nul_is_a_byte_like_others(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    sse_event(&b, 0, NULL, "a\0b", 3);
    assert_memory_equal(b.bytes, "data: a\0b\n\n", 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_its_fields),
        cmocka_unit_test(every_line_end_becomes_a_line_of_data),
        cmocka_unit_test(a_nul_is_a_byte_like_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
