/* vector.h -- a direction as one byte for each number. What compares two of them is in meaning.h. */
#ifndef MEANING_VECTOR_H
#define MEANING_VECTOR_H

#include <stdint.h>

enum { VECTOR_MOST = 127 };

/* Scales so that the largest number is VECTOR_MOST. Zeros stay zeros. Every number has to be finite. */
void vector_narrow(const float *numbers, uint32_t dim, int8_t *ret);

#endif
