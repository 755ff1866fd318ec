/* What alarm.h promises. */
#include "ask/alarm.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/halt.h"
#include "base/clock.h"
#include "base/err.h"

static void post(void *arg)
{
    (void)sem_post(arg);
}

static void a_halt_comes_when_its_time_has_come(void **state)
{
    struct alarms *all = NULL;
    struct alarm late, soon;
    struct halt never, halt;
    struct err e = {0};
    sem_t rung;
    (void)state;
    (void)sem_init(&rung, 0, 0);
    halt_init(&never);
    halt_init(&halt);
    halt_on(&halt, post, &rung);
    assert_int_equal(alarms_open(&all, &e), 0);
    assert_int_equal(alarm_set(all, &late, clock_us() + (int64_t)3600 * 1000000, &never, &e), 0);
    assert_int_equal(alarm_set(all, &soon, clock_us() + 1000, &halt, &e), 0);
    assert_int_equal(sem_wait(&rung), 0);
    assert_true(alarm_clear(all, &soon));
    assert_false(alarm_clear(all, &late));
    assert_true(halt_is(&halt));
    assert_false(halt_is(&never));
    alarms_close(all);
    halt_done(&halt);
    halt_done(&never);
    (void)sem_destroy(&rung);
}

static void one_that_was_never_set_has_not_rung(void **state)
{
    struct alarms *all = NULL;
    struct alarm none = {0};
    struct err e = {0};
    (void)state;
    assert_int_equal(alarms_open(&all, &e), 0);
    assert_false(alarm_clear(all, &none));
    alarms_close(all);
    alarms_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_halt_comes_when_its_time_has_come),
        cmocka_unit_test(one_that_was_never_set_has_not_rung),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
