#include "spawn/life.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_ordinary_life(void **state)
{
    (void)state;
    enum life life = LIFE_STARTING;
    assert_true(life_step(&life, LIFE_EXECUTED));
    assert_int_equal(life, LIFE_LIVE);
    assert_true(life_step(&life, LIFE_KILL));
    assert_true(life_step(&life, LIFE_REAPED));
    assert_int_equal(life, LIFE_SWEPT);
}

static void a_kernel_that_ends_by_itself_needs_no_kill(void **state)
{
    (void)state;
    enum life life = LIFE_LIVE;
    assert_true(life_step(&life, LIFE_REAPED));
    assert_int_equal(life, LIFE_SWEPT);
}

static void a_dying_jail_does_not_come_alive(void **state)
{
    (void)state;
    enum life life = LIFE_DYING;
    assert_false(life_step(&life, LIFE_EXECUTED));
    assert_false(life_step(&life, LIFE_KILL));
    assert_int_equal(life, LIFE_DYING);
}

/* Whatever happens, in whatever order: nothing leaves SWEPT, nothing returns to STARTING, only a start
 * leads to LIVE, and every state but SWEPT can be ended. */
static void every_pair_of_state_and_event(void **state)
{
    (void)state;
    for (int s = 0; s < LIFE_COUNT; s++)
        for (int ev = 0; ev < LIFE_EVENTS; ev++) {
            enum life life = (enum life)s;
            bool moved = life_step(&life, (enum life_event)ev);
            assert_true(moved == (life != (enum life)s));
            assert_true(s != LIFE_SWEPT || !moved);
            assert_true(!moved || life != LIFE_STARTING);
            assert_true(!moved || life != LIFE_LIVE || s == LIFE_STARTING);
            assert_true(ev != LIFE_REAPED || s == LIFE_SWEPT || life == LIFE_SWEPT);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_life),
        cmocka_unit_test(a_kernel_that_ends_by_itself_needs_no_kill),
        cmocka_unit_test(a_dying_jail_does_not_come_alive),
        cmocka_unit_test(every_pair_of_state_and_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
