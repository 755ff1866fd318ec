/* fsck_int.h -- what the files of fsck share. */
#ifndef STORE_FSCK_INT_H
#define STORE_FSCK_INT_H

#include "store/contents_int.h"
#include "store/fsck.h"
#include "store/hash_set.h"

enum { FSCK_ROWS = 1000 };

struct check {
    const struct fsck_options *o;
    struct meta *meta; /* NULL: from packs alone */
    struct fsck_result *result;
    const char *vault;
    const struct pack_info *packs; /* of it, by number */
    size_t pack_count;
    struct hash_set gone; /* its chunks whose records are not where their rows say */
    struct ZSTD_DCtx_s *ctx;
    char *piece; /* bytes that are read at once */
};

__attribute__((format(printf, 2, 3))) void fsck_problem(struct check *k, const char *fmt, ...);

/* Whether the vault has that pack. */
bool fsck_has_pack(const struct check *k, uint64_t pack);

/* fsck_packs.c: all packs of a vault, and their rows; and what recipes in them name. */
int fsck_packs(struct check *k, struct err *e);
int fsck_recipes(struct check *k, struct err *e);

#endif
