/* gc_int.h -- what the files of gc share. */
#ifndef STORE_GC_INT_H
#define STORE_GC_INT_H

#include "store/contents_int.h"
#include "store/gc.h"
#include "store/hash_set.h"
#include "store/meta_files.h"

enum { GC_ROWS = 1000 }; /* of one step */

/* One round, in one vault. */
struct gc_round {
    const struct gc_options *o;
    struct contents *c;
    const char *vault;
    struct hash_set needed;
    struct ZSTD_DCtx_s *ctx;
    struct gc_result *result;
};

static inline bool gc_is_stopping(const struct gc_round *r)
{
    return r->o->stops && atomic_load_explicit(r->o->stops, memory_order_relaxed);
}

/* Removes packs in which too little is needed, after copying that (gc_packs.c). */
int gc_tidy_packs(struct gc_round *r, const struct pack_info *packs, size_t count, struct err *e);

#endif
