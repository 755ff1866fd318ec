/* scan.h -- which pages of this process are its own.
 *
 * A page of a private mapping is the file's until it is written to; from then on it is a copy that
 * belongs to the process. The kernel knows: PAGEMAP_SCAN asks it (since Linux 6.7), before that every
 * page's entry in /proc/self/pagemap is read.
 */
#ifndef IMAGE_SCAN_H
#define IMAGE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As the kernel's struct page_region. */
struct page_range {
    uint64_t start, end, categories;
};

struct scan {
    int pagemap;
    bool has_ioctl;
};

/* 0, or minus the errno. */
long scan_open(struct scan *s);
void scan_close(struct scan *s);

/* Own pages between *at and `end`, as at most `max` ranges in rising order; *at moves to where it
 * stopped looking. Returns how many ranges, or minus the errno. No C library. */
long scan_next(const struct scan *s, uint64_t *at, uint64_t end, struct page_range *ret,
               size_t max);

#endif
