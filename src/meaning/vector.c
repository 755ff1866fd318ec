#include "meaning/vector.h"

#include <math.h>

#include "meaning/meaning.h"
#include "meaning/wide.h"

void vector_narrow(const float *numbers, uint32_t dim, int8_t *ret)
{
    float most = 0;
    for (uint32_t i = 0; i < dim; i++)
        most = fmaxf(most, fabsf(numbers[i]));
    for (uint32_t i = 0; i < dim; i++)
        ret[i] = (int8_t)(most > 0 ? lroundf(numbers[i] / most * VECTOR_MOST) : 0);
}

BODY int32_t dot(const int8_t *restrict a, const int8_t *restrict b, uint32_t dim)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

static int32_t dot_plain(const int8_t *a, const int8_t *b, uint32_t dim)
{
    return dot(a, b, dim);
}

WIDE static int32_t dot_wide(const int8_t *a, const int8_t *b, uint32_t dim)
{
    return dot(a, b, dim);
}

int32_t meaning_dot(const int8_t *a, const int8_t *b, uint32_t dim)
{
    return is_wide() ? dot_wide(a, b, dim) : dot_plain(a, b, dim);
}

float meaning_cosine(const int8_t *a, const int8_t *b, uint32_t dim)
{
    float lengths = sqrtf((float)meaning_dot(a, a, dim)) * sqrtf((float)meaning_dot(b, b, dim));
    return lengths > 0 ? (float)meaning_dot(a, b, dim) / lengths : 0;
}
