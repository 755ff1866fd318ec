#include "sandbox/inodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { INODES_FIRST = 256 };

void inodes_done(struct inodes *set)
{
    free(set->slots);
    *set = (struct inodes){0};
}

void inodes_clear(struct inodes *set)
{
    if (set->count > 0)
        memset(set->slots, 0, set->cap * sizeof *set->slots);
    set->count = 0;
}

/* The slot that holds the inode, or the empty one where it belongs. One always is. */
static struct inode_slot *find(struct inode_slot *slots, size_t cap, uint64_t inode)
{
    uint64_t mixed = inode * 0x9E3779B97F4A7C15; /* neighbours end up far apart */
    size_t at = (size_t)(mixed >> 20) & (cap - 1);
    while (slots[at].inode != 0 && slots[at].inode != inode)
        at = (at + 1) & (cap - 1);
    return &slots[at];
}

static bool grow(struct inodes *set)
{
    size_t cap = set->cap ? 2 * set->cap : INODES_FIRST;
    struct inode_slot *slots = calloc(cap, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < set->cap; i++)
        if (set->slots[i].inode != 0)
            *find(slots, cap, set->slots[i].inode) = set->slots[i];
    free(set->slots);
    set->slots = slots;
    set->cap = cap;
    return true;
}

static bool has_room(struct inodes *set)
{
    if (set->count >= INODES_MAX)
        return false;
    return 3 * (set->count + 1) <= 2 * set->cap || grow(set);
}

bool inodes_has(const struct inodes *set, uint64_t inode)
{
    return set->cap > 0 && find(set->slots, set->cap, inode)->inode == inode;
}

uint64_t inodes_bytes(const struct inodes *set, uint64_t inode)
{
    return set->cap > 0 ? find(set->slots, set->cap, inode)->bytes : 0;
}

bool inodes_add(struct inodes *set, uint64_t inode, uint64_t bytes)
{
    assert(inode != 0);
    struct inode_slot *known = set->cap > 0 ? find(set->slots, set->cap, inode) : NULL;
    if (known && known->inode == inode) {
        known->bytes = bytes > known->bytes ? bytes : known->bytes;
        return false;
    }
    if (!has_room(set))
        return true;
    *find(set->slots, set->cap, inode) = (struct inode_slot){.inode = inode, .bytes = bytes};
    set->count++;
    return true;
}
