#include "histogram.h"

/* Below 64 ns a bucket of its own for each; above, 64 buckets for every power of two. */
static unsigned bucket_of(uint64_t ns)
{
    if (ns < HISTOGRAM_FINE)
        return (unsigned)ns;
    unsigned shift = 63 - 6 - (unsigned)__builtin_clzll(ns);
    return (shift + 1) * HISTOGRAM_FINE + (unsigned)((ns >> shift) - HISTOGRAM_FINE);
}

uint64_t histogram_end(unsigned bucket)
{
    if (bucket < HISTOGRAM_FINE)
        return bucket;
    unsigned shift = bucket / HISTOGRAM_FINE - 1;
    return ((uint64_t)(bucket % HISTOGRAM_FINE + HISTOGRAM_FINE + 1) << shift) - 1;
}

void histogram_add(struct histogram *h, uint64_t ns)
{
    h->count++;
    h->buckets[bucket_of(ns)]++;
    if (ns > h->max_ns)
        h->max_ns = ns;
}

uint64_t histogram_at(const struct histogram *h, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)h->count), seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen > wanted || (seen && seen == h->count))
            return histogram_end(i) < h->max_ns ? histogram_end(i) : h->max_ns;
    }
    return 0;
}
