/* baked.h -- the baked image that sessions of the command line start from.
 *
 * It is kept where $CICADA_IMAGE_DIR says ("off": nowhere), otherwise in /var/cache/cicada/images
 * as root, and in $XDG_CACHE_HOME/cicada/images or ~/.cache/cicada/images as anybody else. `cicada
 * bake` makes it; `cicada run` uses it when it is current and starts Python cold when it is not.
 */
#ifndef CLI_BAKED_H
#define CLI_BAKED_H

#include <limits.h>

struct err;
struct image;
struct images;
struct jail_data;
struct kernel;
struct limits;
struct spawner;

/* Where images are kept. Fails with ERR_NOT_FOUND when they are off or there is no home. */
int baked_dir(char ret[PATH_MAX], struct err *e);

/* Opens the store; with BAKED_MAKE its directory is made if it is missing. */
enum baked_way { BAKED_LOOK, BAKED_MAKE };
int baked_open(enum baked_way way, struct images **ret, struct err *e);

/* The current image, if this host can use it. Fails with why there is none. Blocks on disk. */
int baked_find(struct spawner *s, struct image *ret, struct err *e);

/* A kernel from the image, or cold if that is not possible. Fails like kernel_start. Blocks. */
int baked_start(struct spawner *s, const struct limits *limits, const struct jail_data *data,
                struct kernel **ret, struct err *e);

#endif
