#include "image/scan.h"

#include <fcntl.h>

#include "image/format.h"
#include "image/raw.h"

/* linux/fs.h of Debian 12 does not have these yet. */
enum {
    PAGE_FILE = 1 << 2,
    PAGE_PRESENT = 1 << 3,
    PAGE_SWAPPED = 1 << 4,
    PAGE_ZERO = 1 << 5,
};

struct scan_arg {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define PAGEMAP_SCAN 0xc0606610u

_Static_assert(sizeof(struct scan_arg) == 96, "the size is part of the ioctl's number");

/* Bits of an entry in pagemap. */
#define ENTRY_PRESENT ((uint64_t)1 << 63)
#define ENTRY_SWAPPED ((uint64_t)1 << 62)
#define ENTRY_FILE ((uint64_t)1 << 61)

static long ask(int pagemap, uint64_t *at, uint64_t end, struct page_range *ret, size_t max)
{
    struct scan_arg arg = {.size = sizeof arg,
                           .start = *at,
                           .end = end,
                           .vec = raw_address(ret),
                           .vec_len = max,
                           .category_inverted = PAGE_FILE | PAGE_ZERO,
                           .category_mask = PAGE_FILE | PAGE_ZERO,
                           .category_anyof_mask = PAGE_PRESENT | PAGE_SWAPPED,
                           .return_mask = PAGE_PRESENT};
    long count = raw3(SYS_ioctl, (uint64_t)pagemap, PAGEMAP_SCAN, raw_address(&arg));
    if (count >= 0)
        *at = arg.walk_end > *at ? arg.walk_end : end;
    return count;
}

/* Adds a page to the list. False if there is no room for it. */
static bool add(struct page_range *list, size_t *count, size_t max, uint64_t page)
{
    if (*count > 0 && list[*count - 1].end == page) {
        list[*count - 1].end += IMAGE_PAGE;
        return true;
    }
    if (*count == max)
        return false;
    list[(*count)++] = (struct page_range){.start = page, .end = page + IMAGE_PAGE};
    return true;
}

static long look(int pagemap, uint64_t *at, uint64_t end, struct page_range *ret, size_t max)
{
    uint64_t entries[512];
    size_t count = 0;
    while (*at < end) {
        size_t wanted = (end - *at) / IMAGE_PAGE;
        if (wanted > 512)
            wanted = 512;
        if (raw_pread_all(pagemap, entries, wanted * 8, *at / IMAGE_PAGE * 8))
            return -5; /* EIO */
        for (size_t i = 0; i < wanted; i++, *at += IMAGE_PAGE)
            if ((entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED)) && !(entries[i] & ENTRY_FILE) &&
                !add(ret, &count, max, *at))
                return (long)count;
    }
    return (long)count;
}

long scan_open(struct scan *s)
{
    long fd = raw_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fd;
    s->pagemap = (int)fd;
    uint64_t at = 0x10000; /* a page nobody has: only whether the question is understood matters */
    struct page_range none;
    s->has_ioctl = ask(s->pagemap, &at, at + IMAGE_PAGE, &none, 1) >= 0;
    return 0;
}

void scan_close(struct scan *s)
{
    (void)raw_close(s->pagemap);
    s->pagemap = -1;
}

long scan_next(const struct scan *s, uint64_t *at, uint64_t end, struct page_range *ret, size_t max)
{
    return s->has_ioctl ? ask(s->pagemap, at, end, ret, max) : look(s->pagemap, at, end, ret, max);
}
