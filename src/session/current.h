/* current.h -- the image that new sessions start from, held open for all who start them.
 *
 * Looking for it in the store means looking at every file it was made of, so that is done now and
 * then, off the path of a request (current_refresh); a start only takes a descriptor. Safe for any
 * number of threads.
 */
#ifndef SESSION_CURRENT_H
#define SESSION_CURRENT_H

#include <stdbool.h>

#include "base/hash.h"

struct current;
struct err;
struct images;

/* What a start needs: a descriptor of its own, and which image it is. */
struct current_image {
    int fd; /* -1: there is none */
    char id[HASH_HEX_SIZE];
    bool is_old;               /* files it was made of have changed since, */
    bool is_changed_elsewhere; /* also outside the directories Python imports from */
    int libraries_fd; /* of an old one: those directories as they were (images.h); -1: not kept */
};

#define CURRENT_IMAGE_NONE ((struct current_image){.fd = -1, .libraries_fd = -1})

void current_image_done(struct current_image *i);

/* `images` may be NULL: then there is never one to start from. `kept`: a second store, of images that sleeping
 * sessions need, for what is not in the first; NULL: none. Both borrowed. Knows none before the first
 * refresh. */
int current_new(struct images *images, struct images *kept, struct current **ret, struct err *e);
void current_free(struct current *c);

/* Looks which image of the store is current now. Fails with why there is none. Blocks on disk. */
int current_refresh(struct current *c, struct err *e);

/* Whether that image is the current one now. Does not block. */
bool current_is(struct current *c, const char *id);

/* The image to start from. Does not block. Fails with ERR_NOT_FOUND, or when descriptors run
 * out. */
int current_take(struct current *c, struct current_image *ret, struct err *e);

/* The image of that id, which is mostly the current one; otherwise from the store, like
 * images_open_id, or the second store, and then it blocks on disk. So it does when nobody has looked for CURRENT_SURE_US
 * whether the current one still is: a session that wakes right after an upgrade shall not take new
 * libraries for its own. One that is held is good as long as it is not found damaged. */
enum { CURRENT_SURE_US = 2000000 };
int current_take_id(struct current *c, const char *id, struct current_image *ret, struct err *e);

#endif
