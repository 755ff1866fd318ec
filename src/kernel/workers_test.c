/* OpenBLAS and OpenMP themselves are tried in tests/kernel: here only what holds without them. */
#include "kernel/workers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void *wait_at(void *barrier)
{
    (void)pthread_barrier_wait(barrier);
    (void)pthread_barrier_wait(barrier);
    return NULL;
}

static void every_thread_counts(void **state)
{
    (void)state;
    pthread_barrier_t barrier;
    pthread_t thread;
    int before = workers_all_threads();
    assert_true(before >= 1);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_at, &barrier), 0);
    (void)pthread_barrier_wait(&barrier);
    assert_int_equal(workers_all_threads(), before + 1);
    (void)pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void without_such_libraries_nothing_happens(void **state)
{
    (void)state;
    int before = workers_all_threads();
    workers_set(4);
    workers_stop();
    assert_int_equal(workers_all_threads(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_counts),
        cmocka_unit_test(without_such_libraries_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
