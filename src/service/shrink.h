/* shrink.h -- images made small, in a jail of their own by shrink.py.
 *
 * Images are hostile: they are made by code that nobody read, and their decoders are large. Nothing of the
 * server decodes one. A jail without network, with bounded memory and time, holds one image at a time and
 * hands back another, which is checked here as anything from a stranger is.
 *
 *     shrinker_open(&options, &s, e)
 *     shrinker_make(s, owner, image, &(struct shrink_wish){.edge = 1024, .bytes = 150 << 10},
 *                   &small, &mime, &width, &height, e)
 *     shrinker_stop(s)                       whoever waits in shrinker_make comes back
 *     shrinker_close(s)
 *
 * Jails start when they are first needed, and wait SHRINK_LINGER_MS for more of the same owner, never for
 * another's. There are at most SHRINK_JAILS_MAX of them, an owner has at most SHRINK_OWN_MAX; for a new
 * owner the one that waited longest ends. One is thrown away after SHRINK_IMAGES_MAX images, and after each
 * that went wrong in it.
 */
#ifndef SERVICE_SHRINK_H
#define SERVICE_SHRINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct current;
struct err;
struct shrinker;
struct spawner;

enum {
    SHRINK_JAILS_MAX = 4,
    SHRINK_OWN_MAX = 2,      /* of one owner */
    SHRINK_IMAGES_MAX = 200, /* in one jail */
    SHRINK_LINGER_MS = 60000,
    SHRINK_WAIT_MS = 20000, /* for a jail */
    SHRINK_WALL_MS = 30000, /* for one image */
    SHRINK_MEMORY_MB = 1024,
    SHRINK_BYTES_MAX = 64 << 20,   /* of an image that comes */
    SHRINK_PIXELS_MAX = 128 << 20, /* of it, unpacked */
    SHRINK_EDGE_MAX =
        1 << 16,            /* pixels of its width and height; beyond that no program makes any */
    SHRINK_OWNER_MAX = 128, /* bytes of an owner's name */
};

struct shrinker_options {
    struct spawner *spawner; /* both borrowed */
    struct current *current; /* the image to start from */
    int live_fd;             /* DATA/live; borrowed */
    bool can_use_images;     /* as sessions do */
};

/* Starts no jail yet. Fails with ERR_NO_MEMORY. */
int shrinker_open(const struct shrinker_options *options, struct shrinker **ret, struct err *e);
void shrinker_stop(
    struct shrinker *s); /* any thread; from now on there is ERR_UNAVAILABLE. NULL is fine */
void shrinker_close(struct shrinker *s); /* when nobody is in shrinker_make. NULL is fine. Blocks */

struct shrink_wish {
    uint32_t edge; /* pixels of the longer side; from 16 on */
    size_t bytes;  /* at most so many; from 4 KiB on */
};

/* `image` (PNG, JPEG, GIF, WebP) as one within the wish: *ret_mime is "image/png" or "image/jpeg" (static).
 * What is within it already is handed back as it came, undecoded, if it is one of these two. Of several
 * frames the first is taken, what is transparent becomes white, and it is turned as its camera was held.
 * `owner` is whose image it is: a vault, a principal. `ret` is emptied first; its limit has to be at least
 * wish->bytes. The sizes may be NULL.
 *
 * Fails with ERR_INVALID (no image that can be read), ERR_TOO_LARGE (more bytes, pixels or memory than
 * above), ERR_LIMIT (it took too long, or all jails are busy), ERR_UNAVAILABLE (no jail; stopping). The
 * messages can be shown. Any number of threads. Blocks. */
int shrinker_make(struct shrinker *s, const char *owner, struct str image,
                  const struct shrink_wish *wish, struct buf *ret, const char **ret_mime,
                  uint32_t *ret_width, uint32_t *ret_height, struct err *e);

/* What its header says of a PNG, JPEG, GIF or WebP: the size in pixels, neither of them 0, and the type
 * (static). -1: it is none of these, or cut off before that is known; then nothing is written. Reads the
 * bytes of the header only, decodes nothing. Each of the results may be NULL. */
int image_size(struct str image, uint32_t *ret_width, uint32_t *ret_height, const char **ret_mime);

#endif
