/* What buf.h promises. The build wraps realloc for this test, so that it can fail on demand. */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool is_memory_gone;

void *__wrap_realloc(void *old, size_t size)
{
    return is_memory_gone ? NULL : __real_realloc(old, size);
}

static void holds_what_was_appended(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(100);
    struct err e = {0};
    buf_str(&b, "a");
    buf_add(&b, "\0z", 2);
    buf_fmt(&b, "-%d", 7);
    assert_int_equal(buf_check(&b, &e), 0);
    assert_int_equal(b.len, 5);
    assert_memory_equal(b.bytes, "a\0z-7", 6);
}

static void nothing_can_be_appended_to_nothing(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(0);
    struct err e = {0};
    buf_add(&b, NULL, 0);
    buf_str(&b, "");
    assert_int_equal(buf_check(&b, &e), 0);
    assert_string_equal(b.bytes, "");
    buf_str(&b, "x");
    assert_int_equal(buf_check(&b, &e), -1);
}

static void exactly_the_limit_fits_and_one_more_does_not(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(3);
    struct err e = {0};
    buf_str(&b, "abc");
    assert_int_equal(buf_check(&b, &e), 0);
    buf_str(&b, "d");
    assert_int_equal(buf_check(&b, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.text, "does not fit in 3 bytes");
}

static void a_format_that_does_not_fit_adds_nothing(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(8);
    buf_fmt(&b, "%s", "12345678");
    assert_false(b.failed);
    buf_fmt(&b, "%d", 9);
    assert_true(b.failed);
    assert_string_equal(b.bytes, "12345678");
}

static void a_failed_buf_ignores_later_appends(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(4);
    buf_str(&b, "too long");
    buf_str(&b, "ok");
    buf_fmt(&b, "%s", "ok");
    assert_true(b.failed);
    assert_int_equal(b.len, 0);
}

static void a_length_that_would_wrap_is_refused(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(16);
    buf_str(&b, "x");
    buf_add(&b, "y", SIZE_MAX);
    assert_true(b.failed);
    assert_string_equal(b.bytes, "x");
}

static void it_grows_a_byte_at_a_time_to_any_size(void **state)
{
    (void)state;
    enum { SIZE = 5000 };
    scoped(buf_done) struct buf b = BUF_INIT(SIZE);
    for (int i = 0; i < SIZE; i++) {
        char byte = (char)i;
        buf_add(&b, &byte, 1);
        assert_int_equal(b.bytes[b.len], '\0');
    }
    assert_false(b.failed);
    for (int i = 0; i < SIZE; i++)
        assert_int_equal(b.bytes[i], (char)i);
}

static void take_leaves_an_empty_buf_with_the_same_limit(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(10);
    size_t len = 0;
    buf_str(&b, "mine");
    scoped(freep) char *s = buf_take(&b, &len);
    assert_int_equal(len, 4);
    assert_string_equal(s, "mine");
    assert_null(b.bytes);
    assert_int_equal(b.len, 0);
    assert_int_equal(b.max, 10);
}

static void done_makes_a_failed_buf_usable_again(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(4);
    struct err e = {0};
    buf_str(&b, "too long");
    buf_done(&b);
    buf_str(&b, "fits");
    assert_int_equal(buf_check(&b, &e), 0);
    assert_string_equal(b.bytes, "fits");
}

static void without_memory_the_buf_fails_and_keeps_what_it_held(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    struct err e = {0};
    buf_str(&b, "held");
    is_memory_gone = true;
    buf_str(&b, "fits in what is allocated");
    assert_int_equal(buf_check(&b, &e), 0);
    buf_fmt(&b, "%200d", 1);
    is_memory_gone = false;
    assert_int_equal(buf_check(&b, &e), -1);
    assert_string_equal(b.bytes, "heldfits in what is allocated");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_what_was_appended),
        cmocka_unit_test(nothing_can_be_appended_to_nothing),
        cmocka_unit_test(exactly_the_limit_fits_and_one_more_does_not),
        cmocka_unit_test(a_format_that_does_not_fit_adds_nothing),
        cmocka_unit_test(a_failed_buf_ignores_later_appends),
        cmocka_unit_test(a_length_that_would_wrap_is_refused),
        cmocka_unit_test(it_grows_a_byte_at_a_time_to_any_size),
        cmocka_unit_test(take_leaves_an_empty_buf_with_the_same_limit),
        cmocka_unit_test(done_makes_a_failed_buf_usable_again),
        cmocka_unit_test(without_memory_the_buf_fails_and_keeps_what_it_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
