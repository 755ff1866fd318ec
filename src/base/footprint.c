#include "base/footprint.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/walk.h"

enum { BLOCK = 512 };

static void walk_freep(struct walk **w)
{
    walk_free(*w);
}

static struct footprint_inode *footprint_place(struct footprint_inode *seen, size_t cap,
                                               uint64_t device, uint64_t inode)
{
    size_t at = (size_t)((inode ^ device << 32) * 0x9e3779b97f4a7c15u >> 20) & (cap - 1);
    while (seen[at].inode && (seen[at].inode != inode || seen[at].device != device))
        at = (at + 1) & (cap - 1);
    return &seen[at];
}

static int footprint_grow(struct footprint *f, struct err *e)
{
    size_t cap = f->cap ? 2 * f->cap : 1024;
    struct footprint_inode *seen = calloc(cap, sizeof *seen);
    if (!seen)
        return err_set(e, ERR_NO_MEMORY, "measure a directory");
    for (size_t i = 0; i < f->cap; i++)
        if (f->seen[i].inode)
            *footprint_place(seen, cap, f->seen[i].device, f->seen[i].inode) = f->seen[i];
    free(f->seen);
    f->seen = seen;
    f->cap = cap;
    return 0;
}

/* Adds what an entry takes, unless it has been counted under another name. */
static int footprint_count(struct footprint *f, const struct statx *st, uint64_t *bytes,
                           struct err *e)
{
    if (st->stx_nlink > 1 && !S_ISDIR(st->stx_mode)) {
        uint64_t device = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
        if (2 * f->count >= f->cap && footprint_grow(f, e))
            return -1;
        struct footprint_inode *place = footprint_place(f->seen, f->cap, device, st->stx_ino);
        if (place->inode)
            return 0;
        *place = (struct footprint_inode){device, st->stx_ino};
        f->count++;
    }
    *bytes += st->stx_blocks * BLOCK;
    return 0;
}

int footprint_add(struct footprint *f, int dir_fd, uint64_t *ret_bytes, struct err *e)
{
    scoped(walk_freep) struct walk *w = NULL;
    struct walk_entry entry;
    struct stat top;
    if (fstat(dir_fd, &top))
        return err_sys(e, errno, "measure a directory");
    if (walk_new(dir_fd, &w, e))
        return -1;
    uint64_t bytes = (uint64_t)top.st_blocks * BLOCK;
    while (walk_next(w, &entry)) {
        if (f->stops && atomic_load_explicit(f->stops, memory_order_relaxed))
            return err_set(e, ERR_UNAVAILABLE, "measuring was called off");
        if (entry.error || entry.is_other_mount)
            continue;
        if (footprint_count(f, &entry.st, &bytes, e))
            return -1;
        if (S_ISDIR(entry.st.stx_mode))
            (void)walk_enter(w); /* what denies it is left out */
    }
    *ret_bytes = bytes;
    return 0;
}

void footprint_done(struct footprint *f)
{
    free(f->seen);
    *f = (struct footprint){0};
}
