#include "cli/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static void durations_come_with_and_without_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t seconds;
    } cases[] = {{"90", 90},     {"90s", 90},      {"15m", 900},
                 {"12h", 43200}, {"30d", 2592000}, {"2w", 1209600}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        uint64_t seconds = 0;
        assert_int_equal(parse_duration(cases[i].text, &seconds, &e), 0);
        assert_int_equal(seconds, cases[i].seconds);
    }
}

static void what_is_no_duration_is_refused(void **state)
{
    static const char *const cases[] = {"",    "d",    "0",      "0d",
                                        "-1d", "1.5h", "1y",     "1dd",
                                        " 1d", "1d ",  "36526d", "99999999999999999999s"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        uint64_t seconds = 7;
        assert_int_equal(parse_duration(cases[i], &seconds, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
        assert_int_equal(seconds, 7);
    }
}

static void put(void *arg, const char *scope)
{
    buf_fmt(arg, "%s;", scope);
}

static void scopes_are_a_list_without_blanks(void **state)
{
    struct err e = {0};
    scoped(buf_done) struct buf out = BUF_INIT(200);
    (void)state;
    assert_int_equal(parse_scopes("run,files:read,admin", put, &out, &e), 0);
    assert_string_equal(out.bytes, "run;files:read;admin;");
}

static void a_scope_that_does_not_exist_is_named_with_what_was_meant(void **state)
{
    struct err e = {0};
    scoped(buf_done) struct buf out = BUF_INIT(200);
    (void)state;
    assert_int_equal(parse_scopes("run,file:read", put, &out, &e), -1);
    assert_non_null(strstr(e.text, "did you mean 'files:read'?"));
    assert_int_equal(parse_scopes("everything", put, &out, &e), -1);
    assert_non_null(strstr(e.text, "they are run,"));
    assert_int_equal(parse_scopes("", put, &out, &e), -1);
    assert_int_equal(parse_scopes("run,", put, &out, &e), -1);
    assert_int_equal(parse_scopes("run,run", put, &out, &e), -1);
    assert_non_null(strstr(e.text, "twice"));
}

static void moments_are_rfc_3339_in_utc(void **state)
{
    (void)state;
    assert_int_equal(moment_us("1970-01-01T00:00:00Z"), 0);
    assert_int_equal(moment_us("2026-01-31T12:00:00.123Z"), 1769860800123000);
    assert_int_equal(moment_us("2026-01-31T12:00:00+00:00"), 1769860800000000);
    assert_int_equal(moment_us("2026-01-31 12:00"), -1);
    assert_int_equal(moment_us("2026-01-31T12:00:00+01:00"), -1);
    assert_int_equal(moment_us(""), -1);
}

static void how_long_ago_has_one_unit(void **state)
{
    const int64_t now = 1769860800000000;
    char space[AGO_TEXT];
    (void)state;
    assert_string_equal(ago_text("2026-01-31T11:59:48.000Z", now, space), "12 s ago");
    assert_string_equal(ago_text("2026-01-31T11:00:01.000Z", now, space), "59 min ago");
    assert_string_equal(ago_text("2026-01-31T09:00:00.000Z", now, space), "3 h ago");
    assert_string_equal(ago_text("2026-01-01T12:00:00.000Z", now, space), "30 d ago");
    assert_string_equal(ago_text("2026-02-02T12:00:00.000Z", now, space), "in 2 d");
    assert_string_equal(ago_text("2026-01-31T12:00:00.500Z", now, space), "now");
    assert_string_equal(ago_text("", now, space), "-");
}

static void times_are_short(void **state)
{
    char space[TIME_TEXT];
    (void)state;
    assert_string_equal(time_text(1.234, space), "1.2 ms");
    assert_string_equal(time_text(123.4, space), "123 ms");
    assert_string_equal(time_text(1234, space), "1.2 s");
    assert_string_equal(time_text(61000, space), "1 min 1 s");
    assert_string_equal(time_text(7260000, space), "2 h 1 min");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_come_with_and_without_units),
        cmocka_unit_test(what_is_no_duration_is_refused),
        cmocka_unit_test(scopes_are_a_list_without_blanks),
        cmocka_unit_test(a_scope_that_does_not_exist_is_named_with_what_was_meant),
        cmocka_unit_test(moments_are_rfc_3339_in_utc),
        cmocka_unit_test(how_long_ago_has_one_unit),
        cmocka_unit_test(times_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
