/* footprint.h -- how much of the disk some trees take.
 *
 * Blocks, not lengths: what is sparse or small counts as what the file system gives it. A file with several
 * names counts once, in the first tree that was added with one of them.
 *
 *     scoped(footprint_done) struct footprint f = {.stops = &stops};
 *     footprint_add(&f, images_fd, &images, e)
 *     footprint_add(&f, sleepers_fd, &sleepers, e)        without what was in images already
 */
#ifndef BASE_FOOTPRINT_H
#define BASE_FOOTPRINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct footprint_inode {
    uint64_t device, inode; /* 0: a free place */
};

struct footprint {
    const atomic_bool *stops;     /* set: gives up soon. NULL: never */
    struct footprint_inode *seen; /* of files with several names; a hash table */
    size_t count, cap;
};

/* The tree below `dir_fd` and the directory itself, mounts in it left out, as is what cannot be looked
 * into. Others may be changing it. Fails with ERR_NO_MEMORY, ERR_UNAVAILABLE when told to stop. Blocks on
 * disk. */
int footprint_add(struct footprint *f, int dir_fd, uint64_t *ret_bytes, struct err *e);

void footprint_done(struct footprint *f);

#endif
