/* places.h -- what lies in the data directory beside the store, and how much of the disk it takes.
 *
 * docs/server.md says of each what bounds it. What has several names counts once, in the order below: so the images
 * that sleeping sessions need count as images while they are there.
 */
#ifndef WORKSPACE_PLACES_H
#define WORKSPACE_PLACES_H

#include <stdatomic.h>
#include <stdint.h>

struct err;

enum place {
    PLACE_IMAGES,    /* what sessions start from */
    PLACE_SLEEPERS,  /* sessions asleep, and the images that only they need */
    PLACE_CHECKOUTS, /* heads of workspaces, which working copies lie on */
    PLACE_LIVE,      /* working copies */
    PLACE_UPLOADS,   /* uploads that have not ended */
    PLACE_TMP,       /* drafts */
    PLACE_COUNT
};

extern const char *const place_names[PLACE_COUNT]; /* as in the data directory */

/* Bytes of disk, for each place. `images_path` is where the images lie, which may be elsewhere; NULL: there are
 * none. A place that is not there takes nothing. Fails like footprint_add. Blocks on disk, for as long
 * as it takes to look at every file. */
int places_measure(int data_fd, const char *images_path, const atomic_bool *stops,
                   uint64_t ret[PLACE_COUNT], struct err *e);

#endif
