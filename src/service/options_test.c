#include "service/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/may.h"
#include "service/seat.h"
#include "service/service.h"

static struct service_options server(void)
{
    struct service_options o = {.limits = LIMITS_DEFAULT, .limits_max = LIMITS_DEFAULT};
    o.limits_max.memory_bytes = 4 * GIB;
    o.limits_max.cpu_milli = 2000;
    o.limits_max.wall_ms = 600000;
    o.limits_max.disk_bytes = GIB;
    return o;
}

/* Field by field: there are holes between them. */
static void assert_same(const struct limits *a, const struct limits *b)
{
    scoped(buf_done) struct buf x = BUF_INIT(4096), y = BUF_INIT(4096);
    options_write(a, &(struct pen){0}, &x);
    options_write(b, &(struct pen){0}, &y);
    assert_string_equal(x.bytes, y.bytes);
}

static void who_asks_for_nothing_gets_what_the_server_gives(void **state)
{
    (void)state;
    struct err e = {0};
    struct service_options o = server();
    const struct limit_wishes none = {0};
    struct limits l, expected = LIMITS_DEFAULT;
    assert_int_equal(options_limits(&o, &none, 0, &l, &e), 0);
    assert_same(&l, &expected);
}

static void wishes_are_granted_up_to_the_most_and_not_beyond(void **state)
{
    (void)state;
    struct err e = {0};
    struct service_options o = server();
    struct limits l;
    const struct limit_wishes most = {
        .memory_mb = 4096, .cpu = 2000, .wall_s = 600000, .disk_mb = 1024};
    assert_int_equal(options_limits(&o, &most, 0, &l, &e), 0);
    assert_true(l.memory_bytes == 4 * GIB && l.cpu_milli == 2000 && l.wall_ms == 600000);
    assert_true(l.disk_bytes == GIB && l.file_bytes == GIB);
    const struct limit_wishes over[] = {{.memory_mb = 4097},   {.cpu = 2001},
                                        {.wall_s = 600001},    {.disk_mb = 1025},
                                        {.memory_mb = 31},     {.memory_mb = INT64_MAX},
                                        {.output_bytes = 100}, {.pids = -5}};
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        assert_int_equal(options_limits(&o, &over[i], 0, &l, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
    assert_int_equal(options_limits(&o, &over[0], 0, &l, &e), -1);
    assert_string_equal(e.text, "limits.memory_mb: it can be 32 to 4096 here");
}

static void a_key_can_allow_less_memory(void **state)
{
    (void)state;
    struct err e = {0};
    struct service_options o = server();
    struct limits l;
    const struct limit_wishes none = {0}, more = {.memory_mb = 101};
    assert_int_equal(options_limits(&o, &none, 100, &l, &e), 0);
    assert_true(l.memory_bytes == 100 * MIB);
    assert_int_equal(options_limits(&o, &more, 100, &l, &e), -1);
}

static void what_was_written_is_read_and_nonsense_becomes_the_default(void **state)
{
    (void)state;
    struct limits l = LIMITS_DEFAULT, back, standard = LIMITS_DEFAULT;
    l.memory_bytes = 123 * MIB;
    l.wall_ms = 4567;
    l.files = 99;
    scoped(buf_done) struct buf text = BUF_INIT(4096);
    const struct pen pen = {.principal = "prn_a", .can_write = false, .is_blind = true};
    struct pen pen_back;
    options_write(&l, &pen, &text);
    options_read(text.bytes, &back, &pen_back);
    assert_true(pen_is_same(&pen, &pen_back));
    assert_same(&l, &back);
    static const char *const odd[] = {
        NULL, "", "[]", "{", "{\"memory_bytes\":-1}", "{\"memory_bytes\":1}", "{\"pids\":\"x\"}"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        options_read(odd[i], &back, &pen_back);
        assert_true(!*pen_back.principal && pen_back.is_admin && pen_back.can_write);
        assert_same(&back, &standard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_for_nothing_gets_what_the_server_gives),
        cmocka_unit_test(wishes_are_granted_up_to_the_most_and_not_beyond),
        cmocka_unit_test(a_key_can_allow_less_memory),
        cmocka_unit_test(what_was_written_is_read_and_nonsense_becomes_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
