/* checkout.h -- the head of a workspace as directories that nobody changes, for overlays to lie on.
 *
 *     DATA/checkouts/WS/0-17/       every file of revision 17
 *     DATA/checkouts/WS/17-21/      what changed from 17 to 21: files, and whiteouts for what is gone
 *
 * A checkout is such a chain, the newest layer on top. When a session begins, only what changed since
 * the last checkout has to be written; a chain that gets long is replaced by one layer, made of links
 * to the files of the old ones. Layers are a cache: all of them can be made again from the store, and
 * after a power cut they are, because nothing in them was synced. A layer that a session has mounted
 * stays as it is until the last one lets go of it.
 *
 * Any number of threads; a workspace's layers are made by one at a time. Blocks on disk.
 */
#ifndef SERVICE_CHECKOUT_H
#define SERVICE_CHECKOUT_H

#include <stddef.h>
#include <stdint.h>

#include "wire/jail.h"

struct checkouts;
struct err;
struct files;
struct layer;
struct shelf;
struct workspace_row;

enum {
    CHECKOUT_LAYERS_MAX = 6, /* then they become one */
};

/* `dir_fd` is DATA/checkouts, borrowed. Layers of an earlier server are used again, those of before the
 * machine was started are removed. */
int checkouts_open(int dir_fd, struct files *files, struct checkouts **ret, struct err *e);
void checkouts_close(struct checkouts *c); /* nobody holds one any more; NULL is fine */

struct checkout {
    struct shelf *shelf;                   /* whose; NULL: an empty one */
    struct layer *layers[JAIL_LOWERS_MAX]; /* held; top first */
    int fds[JAIL_LOWERS_MAX];              /* of their directories; borrowed from the layers */
    size_t count;
    uint64_t rev; /* what it shows */
};

/* The head of `ws`; or, when there is no room on the disk for what is new, the newest there is: look at rev.
 * Fails with what the disk or the store fails with. */
int checkout_take(struct checkouts *c, const struct workspace_row *ws, struct checkout *ret,
                  struct err *e);
/* The same once more, for another who holds it. */
void checkout_share(const struct checkout *from, struct checkout *ret);
void checkout_release(struct checkouts *c, struct checkout *checkout); /* an empty one is fine */

enum { CHECKOUT_UNUSED_S = 86400 };

/* Removes chains that nobody has used for `unused_us`, also those of an earlier server, and those of workspaces
 * that were deleted; forgets what was known of them. What somebody holds stays. */
void checkouts_tidy(struct checkouts *c, int64_t unused_us);

#endif
