#include "meaning/product.h"

#include <math.h>
#include <stdlib.h>

#include "base/expect.h"
#include "base/scope.h"
#include "meaning/meaning.h"
#include "meaning/vector.h"
#include "meaning/weights.h"

static uint32_t noise(uint32_t *seed)
{
    return *seed = *seed * 1664525 + 1013904223;
}

/* Compares with the sum as one would write it down, in doubles. */
static void check_product(size_t count, uint32_t in, uint32_t out)
{
    size_t room = PRODUCT_ROOM(count);
    scoped(freep) float *rows = calloc(room * in, sizeof *rows);
    scoped(freep) float *ret = calloc(room * out, sizeof *ret);
    scoped(freep) float *learned = calloc(2 * out, sizeof *learned);
    scoped(freep) int16_t *rounded = calloc(room * in, sizeof *rounded);
    scoped(freep) float *scale = calloc(room, sizeof *scale);
    scoped(freep) int8_t *cells = calloc((size_t)in * out, 1);
    uint32_t seed = 7;
    for (size_t i = 0; i < count * in; i++)
        rows[i] = (float)(noise(&seed) >> 8) / 1e7F - 0.8F;
    for (size_t i = 0; i < (size_t)in * out; i++)
        cells[i] = (int8_t)(noise(&seed) >> 24);
    for (size_t o = 0; o < out; o++)
        learned[o] = 0.01F, learned[out + o] = (float)o;
    const struct matrix m = {in, out, cells, learned, learned + out};
    product_round(rows, count, in, rounded, scale);
    product(&m, rounded, scale, count, ret);
    for (size_t i = 0; i < count; i++)
        for (size_t o = 0; o < out; o++) {
            double sum = 0, most = 0;
            for (size_t j = 0; j < in; j++) {
                sum += (double)rows[i * in + j] * cells[o * in + j] * 0.01;
                most += fabs((double)rows[i * in + j] * cells[o * in + j] * 0.01);
            }
            assert_true(fabs(sum + (double)o - (double)ret[i * out + o]) < 1e-3 * most);
        }
}

static void it_is_the_sum_of_products_for_any_number_of_rows(void **state)
{
    (void)state;
    for (size_t count = 1; count < 10; count++)
        check_product(count, 36, 12);
    check_product(3, 4, 4);
    check_product(5, 512, 16);
}

static void the_widest_row_of_the_largest_numbers_does_not_overflow(void **state)
{
    (void)state;
    enum { WIDTH = WEIGHTS_WIDTH_MAX };
    static int16_t rounded[4 * WIDTH];
    static int8_t cells[4 * WIDTH];
    static float rows[WIDTH], scale[4], ret[16];
    const float ones[4] = {1, 1, 1, 1}, none[4] = {0};
    for (size_t i = 0; i < WIDTH; i++)
        rows[i] = -2;
    for (size_t i = 0; i < 4 * WIDTH; i++)
        cells[i] = -128;
    product_round(rows, 1, WIDTH, rounded, scale);
    product(&(struct matrix){WIDTH, 4, cells, ones, none}, rounded, scale, 1, ret);
    assert_true(fabsf(ret[0] - 2.0F * 128 * WIDTH) < 1);
}

static void a_row_of_zeros_stays_one(void **state)
{
    (void)state;
    const float row[4] = {0};
    int16_t rounded[4] = {1, 1, 1, 1};
    float scale = 1;
    product_round(row, 1, 4, rounded, &scale);
    assert_int_equal(rounded[0] | rounded[1] | rounded[2] | rounded[3], 0);
    assert_true(scale == 0);
}

static void a_vector_is_scaled_to_its_largest_number(void **state)
{
    (void)state;
    const float numbers[4] = {0.02F, -0.04F, 0.01F, 0};
    int8_t narrow[4], zeros[4] = {1, 1, 1, 1};
    vector_narrow(numbers, 4, narrow);
    assert_int_equal(narrow[0], 64);
    assert_int_equal(narrow[1], -127);
    assert_int_equal(narrow[2], 32);
    assert_int_equal(narrow[3], 0);
    vector_narrow((const float[4]){0}, 4, zeros);
    assert_int_equal(zeros[0] | zeros[1] | zeros[2] | zeros[3], 0);
}

static void cosines_are_those_of_directions(void **state)
{
    (void)state;
    const int8_t a[3] = {127, 0, 0}, b[3] = {60, 0, 0}, c[3] = {0, 127, 0}, d[3] = {-127, 0, 0};
    const int8_t zeros[3] = {0};
    assert_true(meaning_cosine(a, b, 3) == 1);
    assert_true(meaning_cosine(a, c, 3) == 0);
    assert_true(meaning_cosine(a, d, 3) == -1);
    assert_true(meaning_cosine(a, zeros, 3) == 0);
}

static void the_longest_vectors_have_a_sum_that_fits(void **state)
{
    (void)state;
    static int8_t a[MEANING_DIM_MAX];
    for (size_t i = 0; i < MEANING_DIM_MAX; i++)
        a[i] = -128;
    assert_int_equal(meaning_dot(a, a, MEANING_DIM_MAX), 128 * 128 * MEANING_DIM_MAX);
    assert_int_equal(meaning_dot(a, a, 5), 128 * 128 * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_sum_of_products_for_any_number_of_rows),
        cmocka_unit_test(the_widest_row_of_the_largest_numbers_does_not_overflow),
        cmocka_unit_test(a_row_of_zeros_stays_one),
        cmocka_unit_test(a_vector_is_scaled_to_its_largest_number),
        cmocka_unit_test(cosines_are_those_of_directions),
        cmocka_unit_test(the_longest_vectors_have_a_sum_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
