#include "kernel/birth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "base/err.h"

enum { LEN = 600 }; /* more than one call to getrandom gives at once */

static uint8_t neighbours[2];
static int32_t place = 7;

static void what_is_marked_is_filled_anew_and_nothing_else(void **state)
{
    (void)state;
    struct err e;
    uint8_t before[LEN] = {0};
    static struct {
        uint8_t front, marked[LEN], back;
    } all;
    assert_true(birth_mark(all.marked, LEN, &place, 624));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(birth_reseed(BIRTH_ALL, &e), 0);
        assert_memory_not_equal(all.marked, before, LEN);
        assert_memory_not_equal(all.marked + LEN - 8, before + LEN - 8, 8);
        assert_int_equal(all.front | all.back, 0);
        assert_int_equal(place, 624);
        memcpy(before, all.marked, LEN);
        place = 0;
    }
}

static void bytes_that_are_no_generator_can_be_spared(void **state)
{
    (void)state;
    struct err e;
    static uint8_t key[32], none[32];
    assert_true(birth_mark(key, sizeof key, NULL, 0));
    place = 0;
    assert_int_equal(birth_reseed(BIRTH_GENERATORS, &e), 0);
    assert_memory_equal(key, none, sizeof key);
    assert_int_equal(place, 624);
    assert_int_equal(birth_reseed(BIRTH_ALL, &e), 0);
    assert_memory_not_equal(key, none, sizeof key);
}

static void there_is_room_for_so_many_marks_and_no_more(void **state)
{
    (void)state;
    struct err e;
    int count = 2; /* from the tests before */
    while (birth_mark(neighbours, sizeof neighbours, NULL, 0))
        count++;
    assert_int_equal(count, BIRTH_MARKS_MAX);
    assert_int_equal(birth_reseed(BIRTH_ALL, &e), 0);
}

static void what_the_system_keeps_is_put_back(void **state)
{
    (void)state;
    static char stack[1 << 16], name[16];
    stack_t given = {.ss_sp = stack, .ss_size = sizeof stack}, none = {.ss_flags = SS_DISABLE},
            found;
    struct outside outside;
    assert_int_equal(sigaltstack(&given, NULL), 0);
    assert_int_equal(prctl(PR_SET_NAME, "before", 0, 0, 0), 0);
    outside_note(&outside);

    assert_int_equal(sigaltstack(&none, NULL), 0);
    assert_int_equal(prctl(PR_SET_NAME, "after", 0, 0, 0), 0);
    outside_restore(&outside);
    assert_int_equal(sigaltstack(NULL, &found), 0);
    assert_ptr_equal(found.ss_sp, stack);
    assert_int_equal(found.ss_size, sizeof stack);
    assert_int_equal(prctl(PR_GET_NAME, name, 0, 0, 0), 0);
    assert_string_equal(name, "before");
    assert_int_equal(sigaltstack(&none, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_marked_is_filled_anew_and_nothing_else),
        cmocka_unit_test(bytes_that_are_no_generator_can_be_spared),
        cmocka_unit_test(there_is_room_for_so_many_marks_and_no_more),
        cmocka_unit_test(what_the_system_keeps_is_put_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
