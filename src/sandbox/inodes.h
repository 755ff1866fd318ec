/* inodes.h -- which inodes were met, and how large they were.
 *
 * A set of numbers with a number each, as large as INODES_MAX. Past that, or without memory, it
 * forgets: inodes_add then calls everything new. 0 is no inode.
 */
#ifndef SANDBOX_INODES_H
#define SANDBOX_INODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INODES_MAX = 1 << 20 };

struct inode_slot {
    uint64_t inode; /* 0: empty */
    uint64_t bytes;
};

struct inodes {
    struct inode_slot *slots; /* cap of them, a power of two; at most two thirds are used */
    size_t cap, count;
};

void inodes_done(struct inodes *set);
void inodes_clear(struct inodes *set); /* empty, with the memory kept for the next round */

/* True when it was not there yet; if it was, the larger number of bytes stays. */
bool inodes_add(struct inodes *set, uint64_t inode, uint64_t bytes);
bool inodes_has(const struct inodes *set, uint64_t inode);
uint64_t inodes_bytes(const struct inodes *set, uint64_t inode); /* 0 when it is not there */

#endif
