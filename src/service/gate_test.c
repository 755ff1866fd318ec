#include "service/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"

/* Somebody who wants in, on a thread of their own. */
struct guest {
    struct gate *gate;
    const char *principal;
    struct gate_pass pass;
    pthread_t thread;
    int order; /* in which they came in */
};

static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;
static int order_next;

static void *come(void *arg)
{
    struct guest *g = arg;
    struct err e = {0};
    if (gate_enter(g->gate, g->principal, clock_us() + 10000000, &g->pass, &e))
        return NULL;
    pthread_mutex_lock(&order_lock);
    g->order = ++order_next;
    pthread_mutex_unlock(&order_lock);
    gate_leave(g->gate, &g->pass);
    return g;
}

static void await_waiting(struct gate *g, size_t count)
{
    size_t inside, waiting = 0;
    for (int64_t end = clock_us() + 10000000; waiting != count && clock_us() < end;)
        gate_look(g, &inside, &waiting);
    assert_int_equal(waiting, count);
}

static void somebody_with_one_request_does_not_wait_for_somebody_with_many(void **state)
{
    (void)state;
    struct err e = {0};
    struct gate g;
    struct gate_pass busy[2] = {0};
    struct guest many[3] = {{0}}, one = {.gate = &g, .principal = "prn_b"};
    order_next = 0;
    gate_init(&g, 2, 2, 10);
    assert_int_equal(gate_enter(&g, "prn_a", clock_us(), &busy[0], &e), 0);
    assert_int_equal(gate_enter(&g, "prn_c", clock_us(), &busy[1], &e), 0);
    for (size_t i = 0; i < 3; i++) {
        many[i] = (struct guest){.gate = &g, .principal = "prn_a"};
        assert_int_equal(pthread_create(&many[i].thread, NULL, come, &many[i]), 0);
        await_waiting(&g, i + 1);
    }
    assert_int_equal(pthread_create(&one.thread, NULL, come, &one), 0);
    await_waiting(&g, 4);
    gate_leave(&g, &busy[1]); /* prn_a has one inside, prn_b none */
    void *result;
    (void)pthread_join(one.thread, &result);
    assert_non_null(result);
    assert_int_equal(one.order, 1);
    gate_leave(&g, &busy[0]);
    for (size_t i = 0; i < 3; i++)
        (void)pthread_join(many[i].thread, &result);
    gate_done(&g);
}

static void nobody_gets_more_than_their_share(void **state)
{
    (void)state;
    struct err e = {0};
    struct gate g;
    struct gate_pass a = {0}, b = {0}, c = {0};
    gate_init(&g, 3, 1, 10);
    assert_int_equal(gate_enter(&g, "prn_a", clock_us(), &a, &e), 0);
    assert_int_equal(gate_enter(&g, "prn_a", clock_us(), &b, &e), -1);
    assert_int_equal(e.code, ERR_OVERLOADED);
    assert_int_equal(gate_enter(&g, "prn_b", clock_us(), &c, &e), 0);
    gate_leave(&g, &a);
    assert_int_equal(gate_enter(&g, "prn_a", clock_us(), &b, &e), 0);
    gate_leave(&g, &b);
    gate_leave(&g, &c);
    gate_done(&g);
}

static void a_full_line_refuses_at_once(void **state)
{
    (void)state;
    struct err e = {0};
    struct gate g;
    struct gate_pass a = {0}, b = {0};
    struct guest waits = {.gate = &g, .principal = "prn_a"};
    gate_init(&g, 1, 1, 1);
    assert_int_equal(gate_enter(&g, "prn_a", clock_us(), &a, &e), 0);
    assert_int_equal(pthread_create(&waits.thread, NULL, come, &waits), 0);
    await_waiting(&g, 1);
    assert_int_equal(gate_enter(&g, "prn_b", clock_us() + 10000000, &b, &e), -1);
    assert_int_equal(e.code, ERR_OVERLOADED);
    gate_leave(&g, &a);
    void *result;
    (void)pthread_join(waits.thread, &result);
    assert_non_null(result);
    gate_done(&g);
}

static void without_a_line_a_free_slot_is_given_all_the_same(void **state)
{
    (void)state;
    struct err e = {0};
    struct gate g;
    struct gate_pass a = {0}, b = {0};
    gate_init(&g, 1, 1, 0);
    assert_int_equal(gate_enter(&g, "prn_a", clock_us(), &a, &e), 0);
    assert_int_equal(gate_enter(&g, "prn_b", clock_us() + 10000000, &b, &e), -1);
    assert_int_equal(e.code, ERR_OVERLOADED);
    gate_leave(&g, &a);
    gate_done(&g);
}

static void a_wait_ends_when_it_is_called_off(void **state)
{
    (void)state;
    struct err e = {0};
    struct gate g;
    struct gate_pass a = {0};
    struct guest waits = {.gate = &g, .principal = "prn_b"};
    gate_init(&g, 1, 1, 4);
    assert_int_equal(gate_enter(&g, "prn_a", clock_us(), &a, &e), 0);
    assert_int_equal(pthread_create(&waits.thread, NULL, come, &waits), 0);
    await_waiting(&g, 1);
    gate_call_off(&g, &waits.pass);
    void *result;
    (void)pthread_join(waits.thread, &result);
    assert_null(result);
    await_waiting(&g, 0);
    gate_leave(&g, &a);
    gate_done(&g);
}

static void who_was_called_off_before_it_came_does_not_wait(void **state)
{
    (void)state;
    struct err e = {0};
    struct gate g;
    struct gate_pass a = {0}, late = {0};
    gate_init(&g, 1, 1, 4);
    assert_int_equal(gate_enter(&g, "prn_a", clock_us(), &a, &e), 0);
    gate_call_off(&g, &late);
    assert_int_equal(gate_enter(&g, "prn_b", clock_us() + 60000000, &late, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    gate_leave(&g, &a);
    gate_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(somebody_with_one_request_does_not_wait_for_somebody_with_many),
        cmocka_unit_test(nobody_gets_more_than_their_share),
        cmocka_unit_test(a_full_line_refuses_at_once),
        cmocka_unit_test(without_a_line_a_free_slot_is_given_all_the_same),
        cmocka_unit_test(a_wait_ends_when_it_is_called_off),
        cmocka_unit_test(who_was_called_off_before_it_came_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
