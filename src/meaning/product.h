/* product.h -- the arithmetic that takes the time: rows of numbers times a matrix of bytes.
 *
 * Rows are first rounded to 14 bits each, with a scale of their own; then all sums are of whole
 * numbers. They are therefore exact, in any order, on any processor: loops may be cut into vectors
 * without the result depending on it. What rounding costs is far below what bytes as weights cost.
 *
 * Memory for rows comes in fours: whoever calls has room for PRODUCT_ROOM(count) of them, read and
 * written, so that no loop has a remainder.
 */
#ifndef MEANING_PRODUCT_H
#define MEANING_PRODUCT_H

#include <stddef.h>
#include <stdint.h>

struct matrix;

#define PRODUCT_ROOM(count) (((count) + 3) / 4 * 4)

enum { PRODUCT_LIMIT = 8191 }; /* of a rounded number: 2048 times this times 128 is below 2^31 */

/* Rounds `count` rows; scale[i] * ret[i * width + j] is what was there, nearly. Every number has to
 * be finite. */
void product_round(const float *rows, size_t count, size_t width, int16_t *ret, float *ret_scale);

/* `count` rows of m->in numbers to as many of m->out, for the matrix's own scale and bias. */
void product(const struct matrix *m, const int16_t *rows, const float *scale, size_t count,
             float *ret);

#endif
