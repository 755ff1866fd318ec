#include "workspace/rates.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/meta.h"
#include "store/store.h"
#include "workspace/people.h"

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)

static _Atomic int64_t mono_us, wall_us;

static int64_t test_mono(void *arg)
{
    (void)arg;
    return atomic_load(&mono_us);
}

static int64_t test_wall(void *arg)
{
    (void)arg;
    return atomic_load(&wall_us);
}

static const struct rates_clock test_clock = {.mono_us = test_mono, .wall_us = test_wall};

static void pass(int64_t us)
{
    atomic_fetch_add(&mono_us, us);
    atomic_fetch_add(&wall_us, us);
}

static struct rates *make(struct meta *meta)
{
    struct rates *r = NULL;
    struct err e = {0};
    atomic_store(&mono_us, 5 * SECOND);
    atomic_store(&wall_us, 20000 * DAY + 1000 * SECOND);
    if (rates_new(meta, &test_clock, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

static struct who a_key(uint32_t runs_per_minute, uint32_t cpu_s_per_day)
{
    return (struct who){
        .key = "key_1",
        .limits = {.runs_per_minute = runs_per_minute, .cpu_s_per_day = cpu_s_per_day}};
}

/* 0: it may; otherwise how long to wait, in ms. */
static int64_t begin(struct rates *r, const struct who *who)
{
    struct err e = {0};
    int64_t wait_ms = -1;
    if (rates_run_begin(r, who, &wait_ms, &e) == 0) {
        assert_int_equal(wait_ms, 0);
        return 0;
    }
    assert_int_equal(e.code, ERR_LIMIT);
    assert_true(wait_ms > 0);
    return wait_ms;
}

static void a_minute_holds_as_many_runs_as_the_limit_and_not_one_more(void **state)
{
    (void)state;
    const uint32_t limits[] = {1, 2, 7, 60, 600};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        scoped(rates_freep) struct rates *r = make(NULL);
        struct who who = a_key(limits[i], 0);
        for (uint32_t k = 0; k < limits[i]; k++)
            assert_int_equal(begin(r, &who), 0);
        int64_t wait_ms = begin(r, &who);
        assert_in_range(wait_ms, 60000 / limits[i] - 1, 60000 / limits[i] + 1);
        pass((wait_ms - 1) * 1000);
        assert_true(begin(r, &who) > 0); /* not a moment earlier than was said */
        pass(1000);
        assert_int_equal(begin(r, &who), 0);
        assert_true(begin(r, &who) > 0);
        pass(60 * SECOND); /* full again, and no fuller */
        for (uint32_t k = 0; k < limits[i]; k++)
            assert_int_equal(begin(r, &who), 0);
        assert_true(begin(r, &who) > 0);
    }
}

static void keys_do_not_share_and_the_unix_socket_has_no_limits(void **state)
{
    (void)state;
    scoped(rates_freep) struct rates *r = make(NULL);
    struct who one = a_key(1, 1), two = a_key(1, 1), local = a_key(1, 1), free_key = a_key(0, 0);
    memcpy(two.key, "key_2", 6);
    local.key[0] = '\0';
    assert_int_equal(begin(r, &one), 0);
    assert_true(begin(r, &one) > 0);
    assert_int_equal(begin(r, &two), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(begin(r, &local), 0);
        assert_int_equal(begin(r, &free_key), 0);
        rates_run_end(r, &local, "", 100 * (uint64_t)SECOND);
    }
}

static void a_run_that_did_not_begin_is_given_back(void **state)
{
    (void)state;
    scoped(rates_freep) struct rates *r = make(NULL);
    struct who who = a_key(3, 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(begin(r, &who), 0);
        rates_run_refund(r, &who);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(begin(r, &who), 0);
    assert_true(begin(r, &who) > 0);
}

static void the_cpu_of_a_day_ends_at_midnight(void **state)
{
    (void)state;
    scoped(rates_freep) struct rates *r = make(NULL);
    struct who who = a_key(0, 10);
    assert_int_equal(begin(r, &who), 0);
    rates_run_end(r, &who, "", 10 * (uint64_t)SECOND - 1);
    assert_int_equal(begin(r, &who), 0); /* a microsecond is left */
    rates_run_end(r, &who, "", 1);
    assert_int_equal(begin(r, &who), (86400 - 1000) * 1000); /* until midnight */
    pass(DAY - 1000 * SECOND - 1);
    assert_int_equal(begin(r, &who), 1);
    pass(1);
    assert_int_equal(begin(r, &who), 0);
}

static void the_budget_of_a_month_ends_with_the_month(void **state)
{
    (void)state;
    scoped(rates_freep) struct rates *r = make(NULL); /* on 2024-10-04 */
    struct who runs = {.key = "key_runs", .limits = {.runs_per_month = 2}};
    struct who cpu = {.key = "key_cpu", .limits = {.cpu_s_per_month = 10}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(begin(r, &runs), 0);
        rates_run_end(r, &runs, "", 1);
    }
    assert_int_equal(begin(r, &cpu), 0);
    rates_run_end(r, &cpu, "", 10 * (uint64_t)SECOND);
    int64_t wait_ms = begin(r, &runs);
    assert_int_equal(wait_ms, (28LL * 86400 - 1000) * 1000);
    assert_int_equal(begin(r, &cpu), wait_ms);
    pass(wait_ms * 1000 - 1);
    assert_int_equal(begin(r, &runs), 1);
    pass(1);
    assert_int_equal(begin(r, &runs), 0);
    assert_int_equal(begin(r, &cpu), 0);
}

static void what_was_used_this_month_survives_a_restart(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new_fast();
    const struct store_options o = {.dir = dir.path};
    struct store *store = NULL;
    struct err e = {0};
    struct who who = {.key = "key_1", .limits = {.runs_per_month = 3}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(store_open(&o, &store, &e), 0);
        struct rates *r = make(store_meta(store));
        assert_int_equal(begin(r, &who) > 0, i == 3);
        if (i < 3)
            rates_run_end(r, &who, "ws_1", SECOND);
        rates_free(r);
        store_close(store);
    }
}

static void what_was_used_today_survives_a_restart(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new_fast();
    const struct store_options o = {.dir = dir.path};
    struct store *store = NULL;
    struct err e = {0};
    struct who who = a_key(0, 10);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_open(&o, &store, &e), 0);
        struct rates *r = make(store_meta(store));
        assert_int_equal(begin(r, &who), 0);
        rates_run_end(r, &who, "", 5 * (uint64_t)SECOND);
        rates_free(r);
        store_close(store);
    }
    assert_int_equal(store_open(&o, &store, &e), 0);
    struct rates *r = make(store_meta(store));
    assert_true(begin(r, &who) > 0);
    struct usage_row used;
    assert_int_equal(meta_usage_get(store_meta(store), "key_1", 20000, &used, &e), 0);
    assert_int_equal(used.runs, 2);
    assert_int_equal(used.cpu_us, 10 * SECOND);
    pass(DAY);
    assert_int_equal(begin(r, &who), 0);
    rates_free(r);
    store_close(store);
}

static int64_t peer_wait(struct rates *r, const char *address)
{
    struct err e = {0};
    int64_t wait_ms = -1;
    if (rates_peer(r, address, &wait_ms, &e) == 0)
        return 0;
    assert_int_equal(e.code, ERR_LIMIT);
    return wait_ms;
}

static void wrong_keys_are_answered_ever_more_slowly(void **state)
{
    (void)state;
    scoped(rates_freep) struct rates *r = make(NULL);
    const char *evil = "192.0.2.7";
    for (int i = 0; i < RATES_FAILURES - 1; i++) {
        assert_int_equal(peer_wait(r, evil), 0);
        rates_peer_failed(r, evil);
    }
    assert_int_equal(peer_wait(r, evil), 0); /* one below */
    int64_t expected_ms = 1000;
    for (int i = 0; i < 10; i++) {
        rates_peer_failed(r, evil);
        assert_int_equal(peer_wait(r, evil), expected_ms);
        assert_int_equal(peer_wait(r, "192.0.2.8"), 0); /* others are not */
        pass(expected_ms * 1000 - 1);
        assert_int_equal(peer_wait(r, evil), 1);
        pass(1);
        assert_int_equal(peer_wait(r, evil), 0);
        expected_ms = 2 * expected_ms < RATES_WAIT_MAX_MS ? 2 * expected_ms : RATES_WAIT_MAX_MS;
    }
    assert_int_equal(expected_ms, RATES_WAIT_MAX_MS);
    pass(61 * SECOND); /* a quiet minute forgets */
    rates_peer_failed(r, evil);
    assert_int_equal(peer_wait(r, evil), 0);
}

static void a_network_of_ipv6_is_one_peer(void **state)
{
    (void)state;
    scoped(rates_freep) struct rates *r = make(NULL);
    char address[64];
    for (int i = 0; i < RATES_FAILURES; i++) {
        (void)snprintf(address, sizeof address, "2001:db8:1:2::%x", i);
        rates_peer_failed(r, address);
    }
    assert_true(peer_wait(r, "2001:db8:1:2:ffff::1") > 0);
    assert_int_equal(peer_wait(r, "2001:db8:1:3::1"), 0);
    for (int i = 0; i < RATES_FAILURES; i++)
        rates_peer_failed(r, i % 2 ? "::ffff:192.0.2.9" : "192.0.2.9");
    assert_true(peer_wait(r, "192.0.2.9") > 0);
    assert_int_equal(peer_wait(r, "192.0.2.10"), 0);
    for (int i = 0; i < 2 * RATES_FAILURES; i++)
        rates_peer_failed(r, "unix");
    assert_int_equal(peer_wait(r, "unix"), 0);
}

static void the_table_of_peers_is_bounded(void **state)
{
    (void)state;
    scoped(rates_freep) struct rates *r = make(NULL);
    for (int i = 0; i < RATES_FAILURES; i++)
        rates_peer_failed(r, "192.0.2.7");
    for (int i = 0; i < RATES_PEERS_MAX - 1; i++) {
        char address[64];
        (void)snprintf(address, sizeof address, "10.%d.%d.%d", i >> 16, i >> 8 & 255, i & 255);
        rates_peer_failed(r, address);
    }
    assert_true(peer_wait(r, "192.0.2.7") > 0); /* fits exactly, and is the newest now */
    for (int i = 0; i < RATES_PEERS_MAX; i++) {
        char address[64];
        (void)snprintf(address, sizeof address, "11.%d.%d.%d", i >> 16, i >> 8 & 255, i & 255);
        rates_peer_failed(r, address);
    }
    assert_int_equal(peer_wait(r, "192.0.2.7"), 0); /* pushed out */
}

enum { THREADS = 4, EACH = 500 };

static _Atomic int allowed;

static void *ask(void *arg)
{
    struct rates *r = arg;
    struct who who = a_key(THREADS * EACH / 2, 1000000);
    struct err e = {0};
    for (int i = 0; i < EACH; i++) {
        int64_t wait_ms;
        char address[64];
        (void)snprintf(address, sizeof address, "10.0.0.%d", i % 7);
        if (rates_run_begin(r, &who, &wait_ms, &e) == 0) {
            atomic_fetch_add(&allowed, 1);
            rates_run_end(r, &who, "", 10);
        }
        (void)rates_peer(r, address, &wait_ms, &e);
        rates_peer_failed(r, address);
    }
    return NULL;
}

static void threads_share_one_limit(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new_fast();
    const struct store_options o = {.dir = dir.path};
    struct store *store = NULL;
    struct err e = {0};
    assert_int_equal(store_open(&o, &store, &e), 0);
    struct rates *r = make(store_meta(store));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, r), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&allowed), THREADS * EACH / 2);
    assert_int_equal(meta_settle(store_meta(store), &e), 0);
    struct usage_row used;
    assert_int_equal(meta_usage_get(store_meta(store), "key_1", 20000, &used, &e), 0);
    assert_int_equal(used.runs, THREADS * EACH / 2);
    rates_free(r);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_minute_holds_as_many_runs_as_the_limit_and_not_one_more),
        cmocka_unit_test(keys_do_not_share_and_the_unix_socket_has_no_limits),
        cmocka_unit_test(a_run_that_did_not_begin_is_given_back),
        cmocka_unit_test(the_cpu_of_a_day_ends_at_midnight),
        cmocka_unit_test(what_was_used_today_survives_a_restart),
        cmocka_unit_test(the_budget_of_a_month_ends_with_the_month),
        cmocka_unit_test(what_was_used_this_month_survives_a_restart),
        cmocka_unit_test(wrong_keys_are_answered_ever_more_slowly),
        cmocka_unit_test(a_network_of_ipv6_is_one_peer),
        cmocka_unit_test(the_table_of_peers_is_bounded),
        cmocka_unit_test(threads_share_one_limit),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
