/* gc.h -- takes away what no kept version needs any more.
 *
 * One vault after the other, in the background of a server that goes on writing:
 *
 *   1. mark: every content that a kept version names, and the chunks its recipe names, are needed. Rows
 *      of chunks that are not are marked dead (meta_chunk_mark), those that are needed again unmarked.
 *   2. sweep: rows that have been dead for `grace` are removed.
 *   3. repack: packs that are nothing but garbage are removed. Of those of which more than
 *      GC_REPACK_PERCENT is garbage (in a thorough round: more than GC_THOROUGH_MIN bytes), what is needed is
 *      copied to another pack and synced, then the rows are moved, then the old pack is removed. Those
 *      with the least to copy come first; what finds no room, with the ballast given up, is left.
 *
 * **Why nothing is lost.** A commit that comes between the list of what is needed and a mark may have
 * its chunks marked by mistake. That does no harm: dead rows are still read (meta_chunk_read), and the
 * next round, which begins after that commit, sees its versions and unmarks the rows before it sweeps.
 * The same round never sweeps what it marked: marks say `now`, and only what is strictly older than
 * now - grace goes, also with a grace of 0. Whoever stores a content again does not find dead rows and
 * puts fresh ones in their place; whoever relies on one unmarks it in the transaction that names it, or
 * learns that it is gone (ERR_BUSY). None of this depends on the clock going forward.
 *
 * A pack is removed when nobody can lease it any more (packs_retire), and then no open batch has written
 * to it (contents_writes_to), and then no row names it: in this order, so no such row can come later.
 * Readers that still know the old place of a chunk find the pack gone and ask again.
 *
 * A crash between any two steps leaves garbage, which the next round finds, and nothing else. One round
 * at a time, and none during a backup: that is the caller's to see to.
 */
#ifndef STORE_GC_H
#define STORE_GC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ballast;
struct contents;
struct err;

enum {
    GC_GRACE_S = 24 * 3600, /* from dead to gone */
    GC_SETTLE_S = 3600,     /* a pack that was written to within that is left alone */
    GC_REPACK_PERCENT = 30,
    GC_REPACK_MIN = 4096,       /* bytes of garbage for which no pack is touched */
    GC_THOROUGH_MIN = 64 << 10, /* in a thorough round, whatever part of the pack that is */
};

struct gc_options {
    struct contents *contents; /* borrowed */
    int64_t grace_us, settle_us;
    int64_t now_us;           /* wall clock */
    bool is_thorough;         /* little garbage is worth a copy, too */
    struct ballast *ballast;  /* given up when there is no room for a copy; NULL: there is none */
    const atomic_bool *stops; /* true ends it early, with what was done so far; NULL: never */
};

struct gc_result {
    uint64_t vaults;
    uint64_t chunks;        /* looked at */
    uint64_t dead;          /* of these, not needed: marked now or before, and not swept yet */
    uint64_t swept;         /* rows removed */
    uint64_t packs_removed; /* and how many of them were copied before */
    uint64_t packs_copied;
    uint64_t packs_left;  /* that had garbage, and no room to be copied */
    uint64_t bytes_freed; /* on disk */
};

/* Blocks for as long as it takes. A vault that is damaged is left as it is, the others are done, and
 * then it fails with ERR_DAMAGED; otherwise with what the store fails with. *ret is written in any
 * case. */
int gc_run(const struct gc_options *options, struct gc_result *ret, struct err *e);

#endif
