#include "store/hash_set.h"

#include <string.h>

#include "base/bytes.h"
#include "base/expect.h"

static void hash_of(uint64_t n, uint8_t ret[HASH_LEN])
{
    memset(ret, 0, HASH_LEN);
    put_u64(ret, n * 0x9e3779b97f4a7c15u);
}

static void an_empty_set_has_nothing(void **state)
{
    (void)state;
    struct hash_set s = {0};
    uint8_t h[HASH_LEN];
    hash_of(1, h);
    assert_false(hash_set_has(&s, h, 1));
    hash_set_done(&s);
}

static void what_was_added_is_there_and_nothing_else(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    struct hash_set s = {0};
    uint8_t h[HASH_LEN];
    for (uint64_t i = 0; i < MANY; i++) {
        hash_of(i, h);
        OK(hash_set_add(&s, h, 1, e));
        OK(hash_set_add(&s, h, 1, e));
    }
    assert_int_equal(s.count, MANY);
    for (uint64_t i = 0; i < 2 * MANY; i++) {
        hash_of(i, h);
        assert_int_equal(hash_set_has(&s, h, 1), i < MANY);
        assert_false(hash_set_has(&s, h, 2) && i > 0);
    }
    hash_set_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_set_has_nothing),
        cmocka_unit_test(what_was_added_is_there_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
