/* meta.h -- what is known of a baked image, as the small text file beside it.
 *
 *     cicada image 1
 *     format 1
 *     kernel 5f0c...                          build ids and CPU: see fingerprint.h
 *     loader 91aa...
 *     cpu 0d3e...
 *     made 1735689600000000                   wall clock, in microseconds
 *     mark 8c1f22ab01f3c9d7                   of the image, see src/image/format.h
 *     checked BOOT DEV INODE SIZE MTIME CTIME which file it was whose content was last hashed
 *
 * One line each, in this order, words separated by one space; times in nanoseconds.
 */
#ifndef SESSION_META_H
#define SESSION_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/fingerprint.h"

struct buf;
struct err;
struct stat;

enum { BOOT_ID_SIZE = 37, META_LEN_MAX = 2048 };

/* Which file it was that was hashed. While a file of this boot still says the same of itself, its
 * content is taken to be the same. */
struct checked {
    char boot[BOOT_ID_SIZE];
    uint64_t dev, inode, size;
    int64_t mtime_ns, ctime_ns;
};

struct meta {
    struct fingerprint made_by;
    int64_t made_wall_us;
    uint64_t mark;
    struct checked checked;
};

void meta_put(const struct meta *m, struct buf *out);

/* Fails with ERR_DAMAGED for anything meta_put did not write. */
int meta_get(const char *text, size_t len, struct meta *ret, struct err *e);

/* Of a file as it is now, in this boot. */
int checked_now(const struct stat *st, struct checked *ret, struct err *e);
bool checked_equal(const struct checked *a, const struct checked *b);

#endif
