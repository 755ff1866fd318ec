#include "session/pool.h"

#include <signal.h>

#include "base/clock.h"
#include "session/session.h"
#include "session/session_fixture.h"

static void open_pool(struct world *w, size_t min, size_t max)
{
    const struct pool_options options = {w->spawner, w->current, LIMITS_DEFAULT, min, max};
    struct err e = {0};
    sessions_close(w->all);
    assert_int_equal(pool_open(&options, &w->pool, &e), 0);
    open_sessions(w);
}

/* Until so many wait, or it takes too long. */
static struct pool_info await_ready(struct world *w, size_t ready)
{
    struct pool_info info;
    int64_t deadline_us = clock_us() + 10000000;
    do {
        (void)usleep(2000); /* there is nothing to wait on: it works beside us */
        pool_look(w->pool, &info);
    } while (info.ready != ready && clock_us() < deadline_us);
    assert_int_equal(info.ready, ready);
    return info;
}

static void sessions_come_from_the_pool_warm_and_ready(void **state)
{
    struct world *w = *state;
    open_pool(w, 2, 2);
    (void)await_ready(w, 2);
    scoped(session_unrefp) struct session *s = start(w, 0);
    scoped(freep) char *env = output(w, s, "env");
    assert_non_null(strstr(env, "WARM=1 OMP_NUM_THREADS=1"));
    expect(w, s, "set x", "", STATE_KEPT);
    put_to_sleep(s);
    expect(w, s, "get", "x\n", STATE_WOKEN);
    struct pool_info info = await_ready(w, 2);
    assert_int_equal(info.taken, 1);
    assert_int_equal(info.made, 3);
}

static void other_limits_do_not_come_from_the_pool_unless_a_jail_does_not_care(void **state)
{
    struct world *w = *state;
    struct session_options options = {.limits = LIMITS_DEFAULT};
    struct session *small = NULL, *quick = NULL;
    struct pool_info info;
    struct session_info about;
    struct err e = {0};
    open_pool(w, 1, 1);
    (void)await_ready(w, 1);
    options.limits.memory_bytes /= 2;
    assert_int_equal(session_new(w->all, &options, &JAIL_DATA_PLAIN(w->data), &small, &e), 0);
    pool_look(w->pool, &info);
    assert_int_equal(info.taken, 0);
    options.limits = LIMITS_DEFAULT;
    options.limits.wall_ms = 5000;
    assert_int_equal(session_new(w->all, &options, &JAIL_DATA_PLAIN(w->data), &quick, &e), 0);
    pool_look(w->pool, &info);
    assert_int_equal(info.taken, 1);
    session_look(quick, &about);
    assert_int_equal(about.limits.wall_ms, 5000);
    struct run run;
    run_code(w, quick, "get", &run);
    assert_int_equal(run.limits.wall_ms, 5000);
    run_done(&run);
    session_unref(small);
    session_unref(quick);
}

static void a_new_image_empties_the_pool_of_the_old(void **state)
{
    struct world *w = *state;
    char image[HASH_HEX_SIZE];
    const struct limits limits = LIMITS_DEFAULT;
    open_pool(w, 1, 1);
    (void)await_ready(w, 1);
    bake(w);
    struct kernel *k = pool_take(w->pool, &limits, image); /* wakes the thread as well */
    kernel_free(k);
    struct pool_info info;
    int64_t deadline_us = clock_us() + 10000000;
    do {
        (void)usleep(2000);
        pool_look(w->pool, &info);
    } while (info.made < 2 && clock_us() < deadline_us);
    (void)await_ready(w, 1);
    k = pool_take(w->pool, &limits, image);
    assert_non_null(k);
    assert_true(current_is(w->current, image));
    kernel_free(k);
}

static void more_takes_want_more_and_memory_bounds_them(void **state)
{
    (void)state;
    const uint64_t plenty = 64 * GIB;
    assert_int_equal(pool_size(2, 16, 0, plenty), 2);
    assert_int_equal(pool_size(2, 16, 1, plenty), 3);
    assert_int_equal(pool_size(2, 16, 3000, plenty), 5);
    assert_int_equal(pool_size(2, 16, 3001, plenty), 6);
    assert_int_equal(pool_size(2, 16, 1000000, plenty), 16);
    assert_int_equal(pool_size(2, 16, UINT64_MAX / 2000, plenty), 16);
    assert_int_equal(pool_size(8, 16, 0, 512 * MIB), 3);
    assert_int_equal(pool_size(8, 16, 0, 0), 0);
}

static void one_that_dies_in_the_pool_is_replaced(void **state)
{
    struct world *w = *state;
    struct pool_info info;
    open_pool(w, 1, 1);
    (void)await_ready(w, 1);
    assert_int_equal(kill(only_kernel(w), SIGKILL), 0);
    int64_t deadline_us = clock_us() + 10000000;
    do {
        (void)usleep(2000);
        pool_look(w->pool, &info);
    } while (info.made < 2 && clock_us() < deadline_us);
    info = await_ready(w, 1);
    assert_int_equal(info.died, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sessions_come_from_the_pool_warm_and_ready),
        TEST(other_limits_do_not_come_from_the_pool_unless_a_jail_does_not_care),
        TEST(a_new_image_empties_the_pool_of_the_old),
        cmocka_unit_test(more_takes_want_more_and_memory_bounds_them),
        TEST(one_that_dies_in_the_pool_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
