/* checkout_int.h -- the inside of checkouts: checkout.c (which layers there are), checkout_fill.c (what is
 * in one). */
#ifndef SERVICE_CHECKOUT_INT_H
#define SERVICE_CHECKOUT_INT_H

#include <stddef.h>
#include <stdint.h>

struct checkouts;
struct err;
struct files;
struct workspace_row;

struct layer {
    struct layer *below; /* of its chain; NULL: the last */
    uint64_t from, to;
    size_t refs; /* those who have it mounted, and the layer above; under shelf->lock */
    int fd;
};

/* Workspaces of which something is remembered. */
size_t checkouts_count(struct checkouts *c);

/* A layer being made: what changed in `ws` since `from`, into `fd`. */
struct making {
    struct files *files;
    const struct workspace_row *ws;
    uint64_t from;
    int fd;
    const struct layer
        *old; /* the chain below, or, when `from` is 0, one whose files can be linked */
};
/* Fails as materialise does; what is in `fd` then is to be removed. */
int checkout_fill(const struct making *m, struct err *e);

#endif
