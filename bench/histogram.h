/* histogram.h -- how long things took, in bounded memory: durations fall into buckets that are at most
 * 1/64 wide, so that a percentile is off by no more than that. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_FINE = 64, HISTOGRAM_BUCKETS = 59 * HISTOGRAM_FINE };

struct histogram {
    uint64_t count, max_ns;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t ns);
uint64_t histogram_end(unsigned bucket); /* the longest that falls into it */

/* The upper end of the bucket in which the `share` (0..1) smallest end; 0 when there are none. */
uint64_t histogram_at(const struct histogram *h, double share);

#endif
