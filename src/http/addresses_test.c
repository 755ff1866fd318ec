/* What addresses.h promises. */
#include "http/addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void key_of(unsigned n, unsigned char key[ADDRESS_LEN])
{
    memset(key, 0, ADDRESS_LEN);
    memcpy(key + 12, &n, sizeof n);
}

static void each_address_has_its_own_limit(void **state)
{
    (void)state;
    struct err e;
    struct addresses *a = NULL;
    unsigned char one[ADDRESS_LEN], two[ADDRESS_LEN];
    key_of(1, one);
    key_of(2, two);
    assert_int_equal(addresses_new(&a, &e), 0);
    assert_true(addresses_add(a, one, 2));
    assert_true(addresses_add(a, one, 2));
    assert_false(addresses_add(a, one, 2));
    assert_true(addresses_add(a, two, 2));
    addresses_remove(a, one);
    assert_true(addresses_add(a, one, 2));
    assert_false(addresses_add(a, one, 2));
    addresses_free(a);
}

static void a_limit_of_nothing_lets_nobody_in(void **state)
{
    (void)state;
    struct err e;
    struct addresses *a = NULL;
    unsigned char one[ADDRESS_LEN];
    key_of(1, one);
    assert_int_equal(addresses_new(&a, &e), 0);
    assert_false(addresses_add(a, one, 0));
    addresses_free(a);
}

static void very_many_come_and_go(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct err e;
    struct addresses *a = NULL;
    unsigned char key[ADDRESS_LEN];
    assert_int_equal(addresses_new(&a, &e), 0);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < COUNT; i++) {
            key_of(i, key);
            assert_true(addresses_add(a, key, 1));
            assert_false(addresses_add(a, key, 1));
        }
        for (unsigned i = 0; i < COUNT; i++) {
            key_of((i * 7919) % COUNT, key);
            addresses_remove(a, key);
        }
    }
    addresses_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_address_has_its_own_limit),
        cmocka_unit_test(a_limit_of_nothing_lets_nobody_in),
        cmocka_unit_test(very_many_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
