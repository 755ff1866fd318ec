/* What turnstile.h promises. */
#include "mcp/turnstile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"

enum { ALL = 256 };

static void nobody_gets_all_of_them(void **state)
{
    (void)state;
    struct turnstile t;
    struct err e = {0};
    turnstile_init(&t, ALL);
    for (int i = 0; i < TURNSTILE_EACH; i++)
        assert_int_equal(turnstile_enter(&t, "a", &e), 0);
    assert_int_equal(turnstile_enter(&t, "a", &e), -1);
    assert_int_equal(e.code, ERR_OVERLOADED);
    assert_int_equal(turnstile_enter(&t, "b", &e), 0);
    turnstile_leave(&t, "a");
    assert_int_equal(turnstile_enter(&t, "a", &e), 0);
    turnstile_done(&t);
}

static void all_together_have_a_limit(void **state)
{
    (void)state;
    struct turnstile t;
    struct err e = {0};
    char who[16];
    turnstile_init(&t, ALL);
    for (int i = 0; i < ALL; i++) {
        (void)snprintf(who, sizeof who, "%d", i);
        assert_int_equal(turnstile_enter(&t, who, &e), 0);
    }
    assert_int_equal(turnstile_enter(&t, "late", &e), -1);
    turnstile_leave(&t, "7");
    assert_int_equal(turnstile_enter(&t, "late", &e), 0);
    for (int i = 0; i < ALL; i++) {
        (void)snprintf(who, sizeof who, "%d", i);
        if (i != 7)
            turnstile_leave(&t, who);
    }
    turnstile_leave(&t, "late");
    assert_null(t.first);
    assert_int_equal(t.total, 0);
    turnstile_done(&t);
}

static void where_there_are_few_everybody_has_a_share(void **state)
{
    (void)state;
    struct turnstile t;
    struct err e = {0};
    turnstile_init(&t, 8);
    assert_int_equal(turnstile_enter(&t, "a", &e), 0);
    assert_int_equal(turnstile_enter(&t, "a", &e), 0);
    assert_int_equal(turnstile_enter(&t, "a", &e), -1);
    turnstile_done(&t);
    turnstile_init(&t, 0);
    assert_int_equal(turnstile_enter(&t, "a", &e), 0);
    turnstile_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_gets_all_of_them),
        cmocka_unit_test(all_together_have_a_limit),
        cmocka_unit_test(where_there_are_few_everybody_has_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
