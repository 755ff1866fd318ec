/* work.h -- room to work in while the process writes itself down.
 *
 * One mapping at a fixed place, outside everything that is written. It exists only meanwhile.
 */
#ifndef IMAGE_WORK_H
#define IMAGE_WORK_H

#include "image/format.h"
#include "image/maps.h"
#include "image/places.h"
#include "image/scan.h"

enum {
    WORK_TEXT = 12 << 20, /* /proc/self/maps: a process has at most some 65,000 mappings */
    WORK_RANGES = 4096,
    WORK_BATCH = 64,      /* pages that are XORed at a time */
    WORK_CODEC = 6 << 20, /* zstd's own memory */
    WORK_OUT = 256 << 10, /* compressed bytes on their way out */
};

struct work {
    char text[WORK_TEXT];
    size_t text_len;
    struct region regions[IMAGE_REGIONS_MAX];
    uint64_t region_count;
    char paths[IMAGE_PATHS_MAX];
    uint64_t path_len;
    struct page_range ranges[WORK_RANGES];
    uint64_t batch[WORK_BATCH][IMAGE_PAGE / 8];
    char out[WORK_OUT];
    uint64_t codec[WORK_CODEC / 8];
};

/* Makes the room, with /proc/self/maps in it. NULL when that fails. */
struct work *work_open(void);
void work_close(struct work *w);

/* True for what is not part of the process that is written down: this room, the read-only image, the
 * loader, what belongs to the OS. */
bool work_is_skipped(const struct mapping *m);

#endif
