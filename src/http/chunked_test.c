/* What chunked.h promises. */
#include "http/chunked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

/* Decodes `text` given in pieces of `step` bytes. Returns how many bytes were used at the end, -1 when
 * it is malformed, -2 when it is not whole. */
static long decode(const char *text, size_t len, size_t step, struct buf *out)
{
    struct chunked c = {0};
    size_t at = 0, end = 0;
    while (end < len) {
        end = end + step < len ? end + step : len;
        for (bool has_more = true; has_more;) {
            size_t used = 0;
            enum chunked_found found = chunked_next(&c, text + at, end - at, &used);
            at += used;
            assert_in_range(at, 0, end);
            if (found == CHUNKED_BAD)
                return -1;
            if (found == CHUNKED_END)
                return (long)at;
            size_t n = chunked_left(&c) < end - at ? (size_t)chunked_left(&c) : end - at;
            buf_add(out, text + at, n);
            if (n)
                chunked_skip(&c, n);
            at += n;
            has_more = at < end;
        }
    }
    return -2;
}

static void check(const char *text, size_t len, long expected, const char *body)
{
    for (size_t step = 1; step <= len + 1; step++) {
        scoped(buf_done) struct buf out = BUF_INIT(4096);
        assert_int_equal(decode(text, len, step, &out), expected);
        if (body)
            assert_string_equal(out.bytes ? out.bytes : "", body);
    }
}

static void chunks_become_a_body_however_they_are_cut(void **state)
{
    (void)state;
    static const char text[] =
        "3\r\nabc\r\n0A;name=\"v\"\r\n0123456789\r\n000\r\nT: v\r\nU:\r\n\r\nrest";
    check(text, sizeof text - 1, (long)(sizeof text - 1 - 4), "abc0123456789");
    check("0\r\n\r\n", 5, 5, "");
}

static void what_is_not_exactly_so_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\r\n",    " 1\r\na\r\n",     "1 \r\na\r\n", "1\na\r\n",
        "1\ra",    "0x1\r\na\r\n",    "+1\r\n",      "g\r\n",
        "1\r\nab", "1\r\na\n",        "1\r\na\r\r",  "1;\x01\r\n",
        "1;a\nb",  "0\r\n\n",         "0\r\na\r\n",  "0\r\n: b\r\n\r\n",
        "0\n",     "0\r\na: b\r\n c", "0\r\na: b\n", "0\r\n\r\r",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(bad[i], strlen(bad[i]), -1, NULL);
}

static void a_size_of_fifteen_digits_is_the_limit(void **state)
{
    (void)state;
    check("000000000000001\r\na\r\n0\r\n\r\n", 25, 25, "a");
    check("0000000000000001\r\na\r\n0\r\n\r\n", 26, -1, NULL);
    struct chunked c = {0};
    size_t used = 0;
    assert_int_equal(chunked_next(&c, "fffffffffffffff\r\n", 17, &used), CHUNKED_DATA);
    assert_int_equal(chunked_left(&c), 0xfffffffffffffff);
}

static void extensions_and_trailers_are_bounded_together(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        scoped(buf_done) struct buf text = BUF_INIT(8192), out = BUF_INIT(16);
        buf_str(&text, "0;");
        for (int i = 0; i < CHUNKED_EXTRA_MAX - 3 + extra; i++)
            buf_str(&text, "x");
        buf_str(&text, "\r\na:b\r\n\r\n");
        assert_int_equal(decode(text.bytes, text.len, 100, &out), extra ? -1 : (long)text.len);
    }
}

static void what_is_broken_stays_broken(void **state)
{
    (void)state;
    struct chunked c = {0};
    size_t used = 0;
    assert_int_equal(chunked_next(&c, "x", 1, &used), CHUNKED_BAD);
    assert_int_equal(chunked_next(&c, "0\r\n\r\n", 5, &used), CHUNKED_BAD);
    assert_int_equal(used, 0);
}

static void what_is_not_whole_waits(void **state)
{
    (void)state;
    static const char text[] = "3;a\r\nabc\r\n0\r\nT: v\r\n\r\n";
    for (size_t len = 1; len < sizeof text - 1; len++)
        check(text, len, -2, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_become_a_body_however_they_are_cut),
        cmocka_unit_test(what_is_not_exactly_so_is_refused),
        cmocka_unit_test(a_size_of_fifteen_digits_is_the_limit),
        cmocka_unit_test(extensions_and_trailers_are_bounded_together),
        cmocka_unit_test(what_is_broken_stays_broken),
        cmocka_unit_test(what_is_not_whole_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
