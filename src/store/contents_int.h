/* contents_int.h -- what the files of contents share. */
#ifndef STORE_CONTENTS_INT_H
#define STORE_CONTENTS_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"
#include "store/cdc.h"
#include "store/contents.h"
#include "store/packs.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

enum { CONTENTS_SPARES = 2 };

struct contents {
    struct packs *packs;
    struct meta *meta;
    void (*on_stop)(void *arg, const char *why);
    void *arg;
    pthread_mutex_t lock; /* guards the rest; making a context takes longer than small files do */
    struct ZSTD_CCtx_s *spares[CONTENTS_SPARES];
    size_t spare_count;
    struct batch
        *batches; /* all that are open; guarded by the lock, as what each has written to is */
};

struct ZSTD_CCtx_s *contents_take_packer(struct contents *c);              /* NULL: no memory */
void contents_give_packer(struct contents *c, struct ZSTD_CCtx_s *packer); /* NULL is fine */

/* Whether a batch that is open has written to the pack: rows that name what is in it may still come. Of
 * a pack that nobody can lease any more the answer only ever changes from yes to no. */
bool contents_writes_to(struct contents *c, const char *vault, uint64_t pack);

/* ---- which chunks a batch has met (seen.c) ---- */

/* The chunks of a batch: those it wrote, and those that were there, each once. */
struct seen {
    struct chunk_row *fresh;
    size_t fresh_count, fresh_size;
    struct chunk_key *reused;
    size_t reused_count, reused_size;
    uint32_t *slots;   /* 0: free; otherwise 2 * index + 1 (+ 1: of reused) */
    size_t slot_count; /* a power of two */
};

void seen_done(struct seen *s);
bool seen_has(const struct seen *s, const struct chunk_key *key);
/* Of one that is not there yet. Fail with ERR_NO_MEMORY. */
int seen_add_fresh(struct seen *s, const struct chunk_row *row, struct err *e);
int seen_add_reused(struct seen *s, const struct chunk_key *key, struct err *e);

/* ---- chunks as they are found ---- */

/* Where a chunk is, or the recipe of a content, and its raw bytes, which the caller frees. Looks again
 * when the pack has gone meanwhile. Fails with ERR_NOT_FOUND when no row names it. */
int contents_fetch(struct contents *c, const char *vault, const struct chunk_key *key,
                   struct ZSTD_DCtx_s **ctx, uint8_t **ret, uint32_t *ret_len, struct err *e);

/* The recipe of a content, whose bytes the caller frees. */
int contents_recipe(struct contents *c, const char *vault, const struct content *content,
                    struct ZSTD_DCtx_s **ctx, uint8_t **ret_bytes, struct recipe *ret,
                    struct err *e);

static inline bool content_is_whole(const struct content *content)
{
    return content->size <= CHUNK_WHOLE_MAX;
}

#endif
