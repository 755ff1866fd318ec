#include "store/cdc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"

static const struct cdc_sizes sizes = {16 << 10, 64 << 10, 512 << 10};

enum { LEN = 16 << 20, CUTS_MAX = 2048 };

static uint8_t *noise(size_t len, uint64_t x)
{
    uint8_t *bytes = malloc(len);
    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = (uint8_t)(x >> 32);
    }
    return bytes;
}

static size_t cut_all(const struct cdc *c, const uint8_t *bytes, size_t len, size_t cuts[CUTS_MAX])
{
    size_t count = 0;
    for (size_t at = 0; at < len;) {
        size_t n = cdc_cut(c, &sizes, bytes + at, len - at);
        assert_true(n > 0 && n <= sizes.max);
        assert_true(n >= sizes.min || at + n == len);
        at += n;
        assert_true(count < CUTS_MAX);
        cuts[count++] = at;
    }
    return count;
}

static size_t common(const size_t *a, size_t a_count, const size_t *b, size_t b_count, size_t shift)
{
    size_t same = 0;
    for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
        if (a[i] + shift == b[j]) {
            same++;
            i++;
            j++;
        } else if (a[i] + shift < b[j]) {
            i++;
        } else {
            j++;
        }
    }
    return same;
}

static void chunks_are_between_the_limits_and_near_the_average(void **state)
{
    (void)state;
    struct cdc c;
    cdc_init(&c, 1);
    scoped(freep) uint8_t *bytes = noise(LEN, 7);
    static size_t cuts[CUTS_MAX];
    size_t count = cut_all(&c, bytes, LEN, cuts);
    assert_in_range(LEN / count, sizes.average / 2, sizes.average * 2);
}

static void an_insertion_moves_no_cut_but_those_near_it(void **state)
{
    (void)state;
    struct cdc c;
    cdc_init(&c, 1);
    scoped(freep) uint8_t *bytes = noise(LEN, 7);
    scoped(freep) uint8_t *longer = malloc(LEN + 3);
    assert_non_null(longer);
    memcpy(longer, bytes, LEN / 2);
    memcpy(longer + LEN / 2, "abc", 3);
    memcpy(longer + LEN / 2 + 3, bytes + LEN / 2, LEN - LEN / 2);
    static size_t before[CUTS_MAX], after[CUTS_MAX];
    size_t count = cut_all(&c, bytes, LEN, before);
    size_t after_count = cut_all(&c, longer, LEN + 3, after);
    size_t same = common(before, count, after, after_count, 0);
    size_t shifted = common(before, count, after, after_count, 3);
    assert_true(same + shifted + 6 >= count);
    assert_true(same > 0 && shifted > 0);
}

static void another_seed_cuts_elsewhere_and_the_same_one_does_not(void **state)
{
    (void)state;
    struct cdc one, again, other;
    cdc_init(&one, 1);
    cdc_init(&again, 1);
    cdc_init(&other, 2);
    scoped(freep) uint8_t *bytes = noise(LEN, 7);
    static size_t a[CUTS_MAX], b[CUTS_MAX];
    size_t a_count = cut_all(&one, bytes, LEN, a);
    size_t b_count = cut_all(&again, bytes, LEN, b);
    assert_int_equal(a_count, b_count);
    assert_memory_equal(a, b, a_count * sizeof *a);
    b_count = cut_all(&other, bytes, LEN, b);
    assert_in_range(common(a, a_count, b, b_count, 0), 0, a_count / 10);
}

static void without_anything_to_go_by_chunks_are_as_long_as_they_may_be(void **state)
{
    (void)state;
    struct cdc c;
    cdc_init(&c, 1);
    scoped(freep) uint8_t *zeros = calloc(1, sizes.max + 1);
    assert_non_null(zeros);
    assert_int_equal(cdc_cut(&c, &sizes, zeros, sizes.max + 1), sizes.max);
    assert_int_equal(cdc_cut(&c, &sizes, zeros, sizes.max), sizes.max);
    assert_int_equal(cdc_cut(&c, &sizes, zeros, sizes.min), sizes.min);
    assert_int_equal(cdc_cut(&c, &sizes, zeros, 1), 1);
    assert_int_equal(cdc_cut(&c, &sizes, zeros, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_between_the_limits_and_near_the_average),
        cmocka_unit_test(an_insertion_moves_no_cut_but_those_near_it),
        cmocka_unit_test(another_seed_cuts_elsewhere_and_the_same_one_does_not),
        cmocka_unit_test(without_anything_to_go_by_chunks_are_as_long_as_they_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
