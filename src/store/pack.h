/* pack.h -- long texts made smaller before they are stored.
 *
 * Making a context of zstd takes longer than compressing a short text with it, so they are kept: to
 * pack in a packer that threads share, to unpack one in each connection.
 */
#ifndef STORE_PACK_H
#define STORE_PACK_H

#include <pthread.h>
#include <stddef.h>

#include "base/str.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;
struct err;

enum packing { PACKING_NONE, PACKING_ZSTD }; /* as stored: never renumber */

enum {
    PACK_FROM = 2048, /* shorter texts are not worth the time: a run waits for it */
    PACK_SPARES = 4,
};

struct packer {
    pthread_mutex_t lock; /* guards the rest */
    struct ZSTD_CCtx_s *spares[PACK_SPARES];
    size_t count;
};

void packer_init(struct packer *p);
void packer_done(struct packer *p);

struct packed {
    enum packing packing;
    const char *bytes; /* `owned`, or the text itself */
    size_t len;
    void *owned; /* NULL: what was given, as it is */
};

/* Compresses when that makes it smaller. Fails with ERR_NO_MEMORY. */
int pack(struct packer *p, struct str text, struct packed *ret, struct err *e);
void packed_done(struct packed *p);

/* The caller frees *ret, which has a NUL behind it; `max` is the most it may become. *ctx is kept
 * between calls (unpacker_free); NULL at first. Fails with ERR_DAMAGED. */
int unpack(struct ZSTD_DCtx_s **ctx, enum packing packing, struct str bytes, size_t max, char **ret,
           size_t *ret_len, struct err *e);
void unpacker_free(struct ZSTD_DCtx_s *ctx); /* NULL is fine */

#endif
