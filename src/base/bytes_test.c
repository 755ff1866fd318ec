#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_are_little_endian(void **state)
{
    (void)state;
    uint8_t at[8];
    put_u16(at, 0x0102);
    assert_memory_equal(at, ((uint8_t[]){2, 1}), 2);
    put_u32(at, 0x01020304);
    assert_memory_equal(at, ((uint8_t[]){4, 3, 2, 1}), 4);
    put_u64(at, 0x0102030405060708);
    assert_memory_equal(at, ((uint8_t[]){8, 7, 6, 5, 4, 3, 2, 1}), 8);
}

static void what_was_put_is_what_one_gets_at_any_alignment(void **state)
{
    (void)state;
    static const uint64_t values[] = {0,          1,          0x7f,        0x80,
                                      0xffff,     0x80000000, 0xffffffff,  0x100000000,
                                      UINT64_MAX, INT64_MAX,  1ULL << 63u, 0xfedcba9876543210};
    uint8_t room[16];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t shift = 0; shift < 8; shift++) {
            put_u64(room + shift, values[i]);
            assert_true(get_u64(room + shift) == values[i]);
            put_u32(room + shift, (uint32_t)values[i]);
            assert_true(get_u32(room + shift) == (uint32_t)values[i]);
            put_u16(room + shift, (uint16_t)values[i]);
            assert_true(get_u16(room + shift) == (uint16_t)values[i]);
        }
}

static void putting_touches_no_byte_beside_its_own(void **state)
{
    (void)state;
    uint8_t room[10] = {0xaa, 0, 0, 0, 0, 0, 0, 0, 0, 0xaa};
    put_u64(room + 1, UINT64_MAX);
    assert_int_equal(room[0], 0xaa);
    assert_int_equal(room[9], 0xaa);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(what_was_put_is_what_one_gets_at_any_alignment),
        cmocka_unit_test(putting_touches_no_byte_beside_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
