#include "cli/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

static void the_middle_of_a_series_does_not_depend_on_its_order(void **state)
{
    (void)state;
    static const int64_t orders[][5] = {{1, 2, 3, 4, 100}, {100, 4, 3, 2, 1}, {3, 100, 1, 4, 2}};
    for (size_t i = 0; i < 3; i++) {
        static struct series s;
        s.count = 0;
        for (size_t k = 0; k < 5; k++)
            series_add(&s, orders[i][k]);
        assert_int_equal(series_at(&s, 50), 3);
        assert_int_equal(series_at(&s, 0), 1);
        assert_int_equal(series_at(&s, 100), 100);
    }
}

static void an_empty_series_has_no_middle(void **state)
{
    (void)state;
    static struct series s;
    s.count = 0;
    assert_int_equal(series_at(&s, 50), 0);
}

static void what_does_not_fit_a_series_is_dropped(void **state)
{
    (void)state;
    static struct series s;
    s.count = 0;
    for (int64_t i = 0; i < SERIES_MAX + 1; i++)
        series_add(&s, i);
    assert_int_equal(s.count, SERIES_MAX);
    assert_int_equal(series_at(&s, 100), SERIES_MAX - 1);
}

static bool has(const struct buf *text, const char *words)
{
    return memmem(text->bytes, text->len, words, strlen(words)) != NULL;
}

static void a_bar_that_is_not_met_is_said_to_be_missed(void **state)
{
    (void)state;
    static struct bench_own own;
    static struct bench_peers peers;
    scoped(buf_done) struct buf out = BUF_INIT(64 << 10);
    series_add(&own.warm, 120);
    series_add(&peers.ipykernel_warm, 3600);
    bench_table(&own, &peers, &out);
    assert_true(has(&out, "120 us"));
    assert_true(has(&out, "1/30"));
    assert_true(has(&out, "not measured"));
    assert_false(has(&out, "MISSED"));
    own.warm.us[0] = 121;
    bench_table(&own, &peers, &out);
    assert_true(has(&out, "MISSED"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_middle_of_a_series_does_not_depend_on_its_order),
        cmocka_unit_test(an_empty_series_has_no_middle),
        cmocka_unit_test(what_does_not_fit_a_series_is_dropped),
        cmocka_unit_test(a_bar_that_is_not_met_is_said_to_be_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
