#include "service/turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"

static void who_comes_first_is_first_and_the_line_moves_up(void **state)
{
    (void)state;
    struct err e = {0};
    struct turn t;
    struct turn_place a, b, c;
    turn_init(&t, 2);
    assert_int_equal(turn_take(&t, &a, true, &e), 0);
    assert_int_equal(turn_take(&t, &b, true, &e), 0);
    assert_int_equal(turn_take(&t, &c, true, &e), 0);
    assert_int_equal(turn_await(&t, &a, &e), 0);
    turn_leave(&t, &b); /* gave up */
    turn_leave(&t, &a);
    assert_int_equal(turn_await(&t, &c, &e), 0);
    assert_int_equal(turn_count(&t), 1);
    turn_leave(&t, &c);
    assert_int_equal(turn_count(&t), 0);
    turn_done(&t);
}

static void who_waits_until_a_moment_gives_up_then_and_not_before_its_turn(void **state)
{
    (void)state;
    struct err e = {0};
    struct turn t;
    struct turn_place a, b;
    turn_init(&t, 2);
    assert_int_equal(turn_take(&t, &a, true, &e), 0);
    assert_int_equal(turn_take(&t, &b, true, &e), 0);
    assert_int_equal(turn_await_until(&t, &a, 0, &e), 0);
    assert_int_equal(turn_await_until(&t, &b, clock_us() + 1000, &e), -1);
    assert_int_equal(e.code, ERR_BUSY);
    turn_leave(&t, &a);
    assert_int_equal(turn_await_until(&t, &b, 0, &e), 0);
    turn_leave(&t, &b);
    turn_done(&t);
}

static void who_is_brief_waits_behind_none_but_the_brief(void **state)
{
    (void)state;
    struct err e = {0};
    struct turn t;
    struct turn_place looks[3], run;
    turn_init(&t, 1);
    assert_int_equal(turn_take_brief(&t, &looks[0], &e), 0);
    assert_int_equal(turn_take_brief(&t, &looks[1], &e), 0);
    assert_int_equal(turn_take_brief(&t, &looks[2], &e), -1); /* full */
    turn_leave(&t, &looks[1]);
    assert_int_equal(turn_take(&t, &run, true, &e), 0);
    turn_leave(&t, &looks[0]);
    assert_int_equal(turn_take_brief(&t, &looks[0], &e), -1);
    assert_int_equal(e.code, ERR_BUSY);
    turn_leave(&t, &run);
    turn_done(&t);
}

static void as_many_as_may_wait_fit_and_one_more_does_not(void **state)
{
    (void)state;
    struct err e = {0};
    struct turn t;
    struct turn_place user, waits[2], more;
    turn_init(&t, 2);
    assert_int_equal(turn_take(&t, &user, true, &e), 0);
    assert_int_equal(turn_take(&t, &waits[0], true, &e), 0);
    assert_int_equal(turn_take(&t, &waits[1], true, &e), 0);
    assert_int_equal(turn_take(&t, &more, true, &e), -1);
    assert_int_equal(e.code, ERR_BUSY);
    turn_leave(&t, &waits[0]);
    assert_int_equal(turn_take(&t, &more, true, &e), 0);
    turn_leave(&t, &user);
    turn_leave(&t, &waits[1]);
    turn_leave(&t, &more);
    turn_done(&t);
}

static void who_insists_gets_a_place_in_a_full_line(void **state)
{
    (void)state;
    struct err e = {0};
    struct turn t;
    struct turn_place user, insists;
    turn_init(&t, 0);
    assert_int_equal(turn_take(&t, &user, true, &e), 0);
    assert_int_equal(turn_take(&t, &insists, true, &e), -1);
    turn_insist(&t, &insists);
    assert_int_equal(turn_count(&t), 2);
    turn_leave(&t, &user);
    assert_int_equal(turn_await(&t, &insists, &e), 0);
    turn_leave(&t, &insists);
    turn_done(&t);
}

static void the_impatient_get_a_free_session_or_none(void **state)
{
    (void)state;
    struct err e = {0};
    struct turn t;
    struct turn_place a, b;
    turn_init(&t, 2);
    assert_int_equal(turn_take(&t, &a, false, &e), 0);
    assert_int_equal(turn_take(&t, &b, false, &e), -1);
    assert_int_equal(e.code, ERR_BUSY);
    turn_leave(&t, &a);
    turn_done(&t);
}

static void *await_second(void *arg)
{
    struct turn *t = arg;
    struct err e = {0};
    return turn_await(t, t->last, &e) && e.code == ERR_CONFLICT ? t : NULL;
}

static void a_wait_can_be_called_off_by_another_thread(void **state)
{
    (void)state;
    struct err e = {0};
    struct turn t;
    struct turn_place a, b;
    pthread_t thread;
    void *result;
    turn_init(&t, 2);
    assert_int_equal(turn_take(&t, &a, true, &e), 0);
    assert_int_equal(turn_take(&t, &b, true, &e), 0);
    assert_int_equal(pthread_create(&thread, NULL, await_second, &t), 0);
    turn_call_off(&t, &b);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &t);
    turn_leave(&t, &b);
    turn_leave(&t, &a);
    turn_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_first_is_first_and_the_line_moves_up),
        cmocka_unit_test(who_waits_until_a_moment_gives_up_then_and_not_before_its_turn),
        cmocka_unit_test(who_is_brief_waits_behind_none_but_the_brief),
        cmocka_unit_test(as_many_as_may_wait_fit_and_one_more_does_not),
        cmocka_unit_test(who_insists_gets_a_place_in_a_full_line),
        cmocka_unit_test(the_impatient_get_a_free_session_or_none),
        cmocka_unit_test(a_wait_can_be_called_off_by_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
