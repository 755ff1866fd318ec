#include "sandbox/inodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/scope.h"

static void an_inode_is_new_once(void **state)
{
    (void)state;
    scoped(inodes_done) struct inodes set = {0};
    assert_false(inodes_has(&set, 7));
    assert_true(inodes_add(&set, 7, 100));
    assert_false(inodes_add(&set, 7, 50));
    assert_true(inodes_has(&set, 7));
    assert_int_equal(inodes_bytes(&set, 7), 100);
    assert_false(inodes_add(&set, 7, 200));
    assert_int_equal(inodes_bytes(&set, 7), 200);
    assert_int_equal(inodes_bytes(&set, 8), 0);
    assert_int_equal(set.count, 1);
}

/* Neighbours, multiples of large powers of two, and values at the top of the range. */
static void any_pattern_of_numbers_is_kept_apart(void **state)
{
    (void)state;
    scoped(inodes_done) struct inodes set = {0};
    for (uint64_t i = 1; i <= 5000; i++) {
        assert_true(inodes_add(&set, i, i));
        assert_true(inodes_add(&set, i << 40, i));
        assert_true(inodes_add(&set, UINT64_MAX - i, i));
    }
    for (uint64_t i = 1; i <= 5000; i++) {
        assert_int_equal(inodes_bytes(&set, i), i);
        assert_int_equal(inodes_bytes(&set, i << 40), i);
        assert_int_equal(inodes_bytes(&set, UINT64_MAX - i), i);
    }
    assert_int_equal(set.count, 15000);
}

static void a_cleared_set_is_empty(void **state)
{
    (void)state;
    scoped(inodes_done) struct inodes set = {0};
    inodes_clear(&set);
    for (uint64_t i = 1; i <= 1000; i++)
        (void)inodes_add(&set, i, 1);
    inodes_clear(&set);
    for (uint64_t i = 1; i <= 1000; i++)
        assert_false(inodes_has(&set, i));
    assert_true(inodes_add(&set, 1, 1));
}

static void the_limit_fits_and_past_it_everything_is_new(void **state)
{
    (void)state;
    scoped(inodes_done) struct inodes set = {0};
    for (uint64_t i = 1; i <= INODES_MAX; i++)
        assert_true(inodes_add(&set, i, 1));
    assert_false(inodes_add(&set, INODES_MAX, 1));
    assert_true(inodes_add(&set, INODES_MAX + 1, 1));
    assert_true(inodes_add(&set, INODES_MAX + 1, 1));
    assert_int_equal(set.count, INODES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inode_is_new_once),
        cmocka_unit_test(any_pattern_of_numbers_is_kept_apart),
        cmocka_unit_test(a_cleared_set_is_empty),
        cmocka_unit_test(the_limit_fits_and_past_it_everything_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
