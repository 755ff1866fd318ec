#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "workspace/bell.h"

static void count(void *arg)
{
    ++*(int *)arg;
}

static void everybody_who_is_there_hears_it(void **state)
{
    (void)state;
    struct bell b = BELL_INIT;
    int heard[2] = {0};
    struct bell_hook hooks[2] = {{.rung = count, .arg = &heard[0]},
                                 {.rung = count, .arg = &heard[1]}};
    bell_ring(&b);
    bell_add(&b, &hooks[0]);
    bell_ring(&b);
    bell_add(&b, &hooks[1]);
    bell_ring(&b);
    bell_remove(&b, &hooks[0]);
    bell_remove(&b, &hooks[0]); /* twice is no mistake */
    bell_ring(&b);
    assert_int_equal(heard[0], 2);
    assert_int_equal(heard[1], 2);
    bell_remove(&b, &hooks[1]);
    bell_ring(&b);
    assert_int_equal(heard[1], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_who_is_there_hears_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
