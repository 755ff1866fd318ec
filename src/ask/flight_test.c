/* Flights without clients: threads, events, limits, forgetting. Streams to clients are tested through the server. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/halt.h"
#include "ask/flight.h"
#include "ask/flight_int.h"
#include "base/err.h"

static struct flights *all;
static atomic_int freed;

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
};

static void gate_init(struct gate *g)
{
    *g = (struct gate){.is_open = false};
    (void)pthread_mutex_init(&g->lock, NULL);
    (void)pthread_cond_init(&g->changed, NULL);
}

static void gate_open(void *arg)
{
    struct gate *g = arg;
    pthread_mutex_lock(&g->lock);
    g->is_open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void gate_wait(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    while (!g->is_open)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void count_free(void *arg)
{
    (void)arg;
    freed++;
}

static int set_up(void **state)
{
    (void)state;
    struct err e = {0};
    freed = 0;
    return flights_open(/* guests_max= */ 3, &all, &e);
}

static int tear_down(void **state)
{
    (void)state;
    flights_stop(all, /* drain_ms= */ 0);
    flights_close(all);
    return 0;
}

static int start(const char *id, void (*run)(struct flight *, void *), void *arg,
                 struct flight **ret, struct err *e)
{
    const struct flight_options o = {
        .id = id, .principal = "prn_a", .run = run, .free_arg = count_free, .arg = arg};
    return flight_start(all, &o, ret, e);
}

static int start_background(const char *id, void (*run)(struct flight *, void *),
                            struct flight **ret, struct err *e)
{
    const struct flight_options o = {
        .id = id, .principal = "prn_a", .is_background = true, .run = run, .free_arg = count_free};
    return flight_start(all, &o, ret, e);
}

static void emit_two(struct flight *f, void *arg)
{
    (void)arg;
    flight_emit(f, "one", str_of("{\"n\":1}"));
    flight_emit(f, "two", str_of("{\"n\":2}"));
}

static void events_are_kept_as_they_are_sent(void **state)
{
    (void)state;
    struct err e = {0};
    struct flight *f = NULL;
    assert_int_equal(start("x_1", emit_two, NULL, &f, &e), 0);
    flight_wait(f, NULL);
    assert_true(flight_is_over(f));
    assert_int_equal(flight_count(f), 2);
    assert_string_equal(f->log.bytes,
                        "event: one\ndata: {\"n\":1}\n\nevent: two\ndata: {\"n\":2}\n\n");
    flight_unref(f);
}

static void it_is_found_by_its_owner_alone(void **state)
{
    (void)state;
    struct err e = {0};
    struct flight *f = NULL;
    assert_int_equal(start_background("x_1", emit_two, &f, &e), 0);
    flight_wait(f, NULL);
    struct flight *again = flight_find(all, "prn_a", "x_1");
    assert_ptr_equal(again, f);
    flight_unref(again);
    assert_null(flight_find(all, "prn_b", "x_1"));
    assert_null(flight_find(all, "prn_a", "x_2"));
    flight_unref(f);
    assert_int_equal(freed, 0); /* it is kept for a while */
}

static void one_that_somebody_waited_for_is_forgotten_at_its_end(void **state)
{
    (void)state;
    struct err e = {0};
    struct flight *f = NULL, *found;
    assert_int_equal(start("x_1", emit_two, NULL, &f, &e), 0);
    flight_wait(f, NULL);
    flight_unref(f);
    for (int tries = 0; (found = flight_find(all, "prn_a", "x_1")); tries++) {
        flight_unref(found); /* it has landed, and goes a moment later */
        assert_true(tries < 1000000);
    }
}

static void wait_for_halt(struct flight *f, void *arg)
{
    (void)arg;
    struct gate g;
    gate_init(&g);
    halt_on(flight_halt(f), gate_open, &g);
    gate_wait(&g);
    halt_on(flight_halt(f), NULL, NULL);
}

static void a_halt_reaches_it(void **state)
{
    (void)state;
    struct err e = {0};
    struct flight *f = NULL;
    assert_int_equal(start("x_1", wait_for_halt, NULL, &f, &e), 0);
    assert_false(flight_is_over(f));
    halt_now(flight_halt(f));
    flight_wait(f, NULL);
    flight_unref(f);
}

static void there_are_only_so_many_of_one_principal(void **state)
{
    (void)state;
    struct err e = {0};
    struct flight *f[FLIGHTS_OWN_MAX];
    for (int i = 0; i < FLIGHTS_OWN_MAX; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "x_%d", i);
        assert_int_equal(start(id, wait_for_halt, NULL, &f[i], &e), 0);
    }
    struct flight *more = NULL;
    assert_int_equal(start("x_more", wait_for_halt, NULL, &more, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(freed, 1); /* what it was to have is not lost */
    halt_now(flight_halt(f[0]));
    flight_wait(f[0], NULL);
    for (int tries = 0; start("x_again", wait_for_halt, NULL, &more, &e) != 0; tries++)
        assert_true(tries < 1000000); /* it has landed, and leaves its place a moment later */
    flight_unref(more);
    for (int i = 0; i < FLIGHTS_OWN_MAX; i++)
        flight_unref(f[i]);
}

static void emit_much(struct flight *f, void *arg)
{
    (void)arg;
    char *piece = malloc(1 << 20);
    assert_non_null(piece);
    memset(piece, 'x', 1 << 20);
    for (int i = 0; i < 80 && !halt_is(flight_halt(f)); i++)
        flight_emit(f, "x", (struct str){piece, 1 << 20});
    free(piece);
}

static void too_many_events_halt_it(void **state)
{
    (void)state;
    struct err e = {0};
    struct flight *f = NULL;
    assert_int_equal(start("x_1", emit_much, NULL, &f, &e), 0);
    flight_wait(f, NULL);
    assert_true(halt_is(flight_halt(f)));
    assert_true(flight_count(f) < 64);
    flight_unref(f);
}

static void emit_too_much_and_the_end(struct flight *f, void *arg)
{
    emit_much(f, arg);
    *(bool *)arg = flight_emit_last(f, "end", str_of("{}"));
}

static void there_is_room_for_the_end(void **state)
{
    (void)state;
    struct err e = {0};
    struct flight *f = NULL;
    bool is_told = false;
    assert_int_equal(start("x_1", emit_too_much_and_the_end, &is_told, &f, &e), 0);
    flight_wait(f, NULL);
    assert_true(is_told);
    static const char end[] = "event: end\ndata: {}\n\n";
    assert_memory_equal(f->log.bytes + f->log.len - (sizeof end - 1), end, sizeof end - 1);
    assert_int_equal(f->ends[f->count - 1], f->log.len);
    assert_int_equal(f->log.len - f->ends[f->count - 2], sizeof end - 1);
    flight_unref(f);
}

static void guests_are_counted_too(void **state)
{
    (void)state;
    struct err e = {0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(flights_enter(all, "prn_a", &e), 0);
    assert_int_equal(flights_enter(all, "prn_b", &e), -1);
    assert_int_equal(e.code, ERR_OVERLOADED);
    flights_leave(all, "prn_a");
    assert_int_equal(flights_enter(all, "prn_b", &e), 0);
    flights_leave(all, "prn_b");
    flights_leave(all, "prn_a");
    flights_leave(all, "prn_a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_are_kept_as_they_are_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_found_by_its_owner_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_somebody_waited_for_is_forgotten_at_its_end,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_halt_reaches_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_are_only_so_many_of_one_principal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_events_halt_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_is_room_for_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(guests_are_counted_too, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
