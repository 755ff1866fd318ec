/* cdc.h -- where to cut: FastCDC with normalized chunking.
 *
 * A rolling hash over the last 64 bytes decides, so a cut depends on the bytes around it and not on
 * where in the content they stand: an insertion moves the cuts near it and no others. Up to the
 * average a cut is four times less likely than the average says, beyond it four times more, which
 * keeps sizes close together; nothing is cut below `min`, everything at `max`.
 *
 * The table behind the hash is made from a seed, one for each vault. Who can only see the sizes of
 * chunks learns nothing about their contents from another vault's.
 */
#ifndef STORE_CDC_H
#define STORE_CDC_H

#include <stddef.h>
#include <stdint.h>

struct cdc_sizes {
    size_t min, average, max; /* average: a power of two, at least 1 KiB */
};

struct cdc {
    uint64_t gear[256];
};

void cdc_init(struct cdc *c, uint64_t seed);

/* How long the first chunk of `bytes` is. The caller brings at least sizes->max bytes, or all that is
 * left of the content. 0 only for none. */
size_t cdc_cut(const struct cdc *c, const struct cdc_sizes *sizes, const uint8_t *bytes,
               size_t len);

#endif
