#include "meaning/product.h"

#include <math.h>

#include "meaning/weights.h"
#include "meaning/wide.h"

/* What is smaller counts as zero: one divided by it might be no number any more. */
#define NOTHING 1e-30F

static float largest(const float *row, size_t width)
{
    float most = 0;
    for (size_t j = 0; j < width; j++)
        most = fabsf(row[j]) > most ? fabsf(row[j]) : most;
    return most;
}

void product_round(const float *rows, size_t count, size_t width, int16_t *ret, float *ret_scale)
{
    for (size_t i = 0; i < count; i++, rows += width, ret += width) {
        float most = largest(rows, width);
        if (most < NOTHING)
            most = 0;
        float factor = most > 0 ? (float)PRODUCT_LIMIT / most : 0;
        for (size_t j = 0; j < width; j++) {
            float scaled = rows[j] * factor;
            ret[j] = (int16_t)(scaled + (scaled < 0 ? -0.5F : 0.5F));
        }
        ret_scale[i] = most / (float)PRODUCT_LIMIT;
    }
}

struct sums {
    int32_t a[4], b[4];
};

/* Four rows times two rows of cells. */
BODY struct sums four_by_two(const int16_t *restrict x, const int8_t *restrict w, size_t width)
{
    const int16_t *x0 = x, *x1 = x + width, *x2 = x + 2 * width, *x3 = x + 3 * width;
    const int8_t *w0 = w, *w1 = w + width;
    int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    for (size_t i = 0; i < width; i++) {
        a0 += x0[i] * w0[i], b0 += x0[i] * w1[i];
        a1 += x1[i] * w0[i], b1 += x1[i] * w1[i];
        a2 += x2[i] * w0[i], b2 += x2[i] * w1[i];
        a3 += x3[i] * w0[i], b3 += x3[i] * w1[i];
    }
    return (struct sums){{a0, a1, a2, a3}, {b0, b1, b2, b3}};
}

BODY void multiply(const struct matrix *m, const int16_t *rows, const float *scale, size_t count,
                   float *ret)
{
    size_t in = m->in, out = m->out;
    for (size_t o = 0; o < out; o += 2)
        for (size_t i = 0; i < count; i += 4) {
            struct sums s = four_by_two(rows + i * in, m->cells + o * in, in);
            for (size_t r = 0; r < 4; r++) {
                float *to = ret + (i + r) * out + o;
                to[0] = (float)s.a[r] * scale[i + r] * m->scale[o] + m->bias[o];
                to[1] = (float)s.b[r] * scale[i + r] * m->scale[o + 1] + m->bias[o + 1];
            }
        }
}

static void multiply_plain(const struct matrix *m, const int16_t *rows, const float *scale,
                           size_t count, float *ret)
{
    multiply(m, rows, scale, count, ret);
}

WIDE static void multiply_wide(const struct matrix *m, const int16_t *rows, const float *scale,
                               size_t count, float *ret)
{
    multiply(m, rows, scale, count, ret);
}

void product(const struct matrix *m, const int16_t *rows, const float *scale, size_t count,
             float *ret)
{
    if (is_wide())
        multiply_wide(m, rows, scale, count, ret);
    else
        multiply_plain(m, rows, scale, count, ret);
}
