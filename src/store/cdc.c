#include "store/cdc.h"

/* Vigna's splitmix64: every seed gives 256 numbers that look random. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void cdc_init(struct cdc *c, uint64_t seed)
{
    for (size_t i = 0; i < 256; i++)
        c->gear[i] = next_random(&seed);
}

/* The topmost bits, which depend on the last 64 bytes; low ones know only the last few. */
static uint64_t top_bits(unsigned count)
{
    return ~UINT64_C(0) << (64 - count);
}

size_t cdc_cut(const struct cdc *c, const struct cdc_sizes *sizes, const uint8_t *bytes, size_t len)
{
    if (len <= sizes->min)
        return len;
    size_t end = len < sizes->max ? len : sizes->max;
    size_t middle = sizes->average < end ? sizes->average : end;
    unsigned bits = 63 - (unsigned)__builtin_clzll(sizes->average);
    uint64_t seldom = top_bits(bits + 2), often = top_bits(bits - 2);

    uint64_t hash = 0;
    size_t i = sizes->min;
    for (; i < middle; i++) {
        hash = (hash << 1) + c->gear[bytes[i]];
        if (!(hash & seldom))
            return i + 1;
    }
    for (; i < end; i++) {
        hash = (hash << 1) + c->gear[bytes[i]];
        if (!(hash & often))
            return i + 1;
    }
    return end;
}
