#include "workspace/passwords.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"

static int64_t now_us;

static int64_t test_clock(void *arg)
{
    (void)arg;
    return now_us;
}

static const struct rates_clock test_time = {.mono_us = test_clock, .wall_us = test_clock};

static struct passwords *made(void)
{
    struct err e = {0};
    struct passwords *p = NULL;
    now_us = 1000000000;
    assert_int_equal(passwords_new(&test_time, &p, &e), 0);
    return p;
}

/* What a guess comes to; the wait in *ret_ms. */
static enum err_code guess(struct passwords *p, const char *hash, const char *of,
                           const char *address, const char *text, int64_t *ret_ms)
{
    struct err e = {0};
    const struct guess g = {.hash = hash, .of = of, .address = address, .text = str_of(text)};
    *ret_ms = 0;
    return passwords_try(p, &g, ret_ms, &e) ? e.code : 0;
}

static void only_the_right_password_is_right(void **state)
{
    (void)state;
    struct err e = {0};
    int64_t ms;
    scoped(passwords_freep) struct passwords *p = made();
    char hash[PASSWORD_HASH_SIZE], again[PASSWORD_HASH_SIZE];
    assert_int_equal(passwords_hash(p,
                                    str_of("tr\xc3\xbc"
                                           "b"),
                                    hash, &e),
                     0);
    assert_int_equal(passwords_hash(p,
                                    str_of("tr\xc3\xbc"
                                           "b"),
                                    again, &e),
                     0);
    assert_string_not_equal(hash, again); /* each has a salt of its own */
    assert_int_equal(strncmp(hash, "$argon2id$v=19$m=65536,t=3,p=1$", 31), 0);
    assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1",
                           "tr\xc3\xbc"
                           "b",
                           &ms),
                     0);
    assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1", "tr\xc3\xbc", &ms), ERR_UNAUTHORIZED);
    assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1", "", &ms), ERR_UNAUTHORIZED);
}

static void a_password_has_its_limits(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(passwords_freep) struct passwords *p = made();
    char hash[PASSWORD_HASH_SIZE];
    scoped(freep) char *text = calloc(1, PASSWORD_BYTES_MAX + 2);
    memset(text, 'a', PASSWORD_BYTES_MAX + 1);
    assert_int_equal(passwords_hash(p, (struct str){text, PASSWORD_BYTES_MAX}, hash, &e), 0);
    assert_int_equal(passwords_hash(p, (struct str){text, PASSWORD_BYTES_MAX + 1}, hash, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(passwords_hash(p, str_of(""), hash, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
}

static void what_is_not_there_takes_as_long_and_counts_as_much(void **state)
{
    (void)state;
    struct err e = {0};
    int64_t ms;
    scoped(passwords_freep) struct passwords *p = made();
    char hash[PASSWORD_HASH_SIZE];
    assert_int_equal(passwords_hash(p, str_of("right"), hash, &e), 0);
    int64_t begun_us = clock_us();
    assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1", "wrong", &ms), ERR_UNAUTHORIZED);
    int64_t there_us = clock_us() - begun_us;
    begun_us = clock_us();
    assert_int_equal(guess(p, NULL, "shr_2", "192.0.2.1", "wrong", &ms), ERR_UNAUTHORIZED);
    int64_t nowhere_us = clock_us() - begun_us;
    assert_true(nowhere_us > there_us / 4); /* it was really computed */
    for (int i = 1; i < 5; i++)
        assert_int_equal(guess(p, NULL, "shr_2", "192.0.2.1", "wrong", &ms), ERR_UNAUTHORIZED);
    assert_int_equal(guess(p, NULL, "shr_2", "192.0.2.1", "wrong", &ms), ERR_LIMIT);
}

static void guesses_are_slowed_down_and_the_right_one_too(void **state)
{
    (void)state;
    struct err e = {0};
    int64_t ms, before = 0;
    scoped(passwords_freep) struct passwords *p = made();
    char hash[PASSWORD_HASH_SIZE];
    assert_int_equal(passwords_hash(p, str_of("right"), hash, &e), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1", "wrong", &ms), ERR_UNAUTHORIZED);
    for (int i = 0; i < 8; i++) { /* each waits twice as long, up to a minute */
        assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1", "right", &ms), ERR_LIMIT);
        assert_true(ms == PASSWORDS_WAIT_MAX_MS || ms == (before ? 2 * before : 1000));
        before = ms;
        now_us += ms * 1000;
        assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1", "wrong", &ms), ERR_UNAUTHORIZED);
    }
    assert_int_equal(before, PASSWORDS_WAIT_MAX_MS);
    /* Somebody else is not kept out by that, nor is this one after the wait. */
    assert_int_equal(guess(p, hash, "shr_1", "192.0.2.9", "right", &ms), 0);
    now_us += (int64_t)PASSWORDS_WAIT_MAX_MS * 1000;
    assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1", "right", &ms), 0);
    assert_int_equal(guess(p, hash, "shr_1", "192.0.2.1", "wrong", &ms), ERR_UNAUTHORIZED);
}

static void many_addresses_are_no_way_around(void **state)
{
    (void)state;
    int64_t ms;
    scoped(passwords_freep) struct passwords *p = made();
    char address[64];
    for (int i = 0; i < 50; i++) {
        (void)snprintf(address, sizeof address, "192.0.2.%d", i);
        assert_int_equal(guess(p, NULL, "shr_1", address, "x", &ms), ERR_UNAUTHORIZED);
    }
    assert_int_equal(guess(p, NULL, "shr_1", "198.51.100.1", "x", &ms), ERR_LIMIT);
    assert_int_equal(guess(p, NULL, "shr_2", "198.51.100.1", "x", &ms), ERR_UNAUTHORIZED);
}

static void many_links_are_no_way_around(void **state)
{
    (void)state;
    int64_t ms;
    scoped(passwords_freep) struct passwords *p = made();
    char of[32];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(of, sizeof of, "shr_%d", i);
        /* One /64 is one address. */
        assert_int_equal(guess(p, NULL, of, i & 1 ? "2001:db8::1" : "2001:db8::2", "x", &ms),
                         ERR_UNAUTHORIZED);
    }
    assert_int_equal(guess(p, NULL, "shr_x", "2001:db8::3", "x", &ms), ERR_LIMIT);
    assert_int_equal(guess(p, NULL, "shr_x", "2001:db8:0:1::3", "x", &ms), ERR_UNAUTHORIZED);
}

struct crowd {
    struct passwords *p;
    _Atomic int tried, refused, turned_away;
};

static void *one_of_many(void *arg)
{
    struct crowd *c = arg;
    int64_t ms;
    switch (guess(c->p, NULL, "shr_1", "192.0.2.1", "x", &ms)) {
    case ERR_UNAUTHORIZED: c->tried++; break;
    case ERR_LIMIT: c->refused++; break;
    default: c->turned_away++; break;
    }
    return NULL;
}

static void many_at_once_are_no_way_around(void **state)
{
    (void)state;
    scoped(passwords_freep) struct passwords *p = made();
    struct crowd crowd = {.p = p};
    pthread_t threads[16];
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, one_of_many, &crowd), 0);
    for (size_t i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(crowd.tried, 5);
    assert_int_equal(crowd.refused, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_right_password_is_right),
        cmocka_unit_test(a_password_has_its_limits),
        cmocka_unit_test(what_is_not_there_takes_as_long_and_counts_as_much),
        cmocka_unit_test(guesses_are_slowed_down_and_the_right_one_too),
        cmocka_unit_test(many_addresses_are_no_way_around),
        cmocka_unit_test(many_links_are_no_way_around),
        cmocka_unit_test(many_at_once_are_no_way_around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
